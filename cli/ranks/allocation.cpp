#include "cli/ranks/allocation.h"

#include "base/numbers.h"
#include "base/text.h"

namespace approx {

std::optional<int64_t> allocated_cpus(std::string_view cpus_per_node) {
  constexpr int64_t kMost = 1'000'000;
  int64_t sum = 0;
  for (const auto part : split(cpus_per_node, ",")) {
    const auto repeated = part.find("(x");
    const auto cpus = parse_integer(part.substr(0, repeated), 1, kMost);
    std::optional<int64_t> nodes = 1;
    if (repeated != std::string_view::npos) {
      if (!part.ends_with(')')) return std::nullopt;
      nodes = parse_integer(part.substr(repeated + 2, part.size() - repeated - 3), 1, kMost);
    }
    if (!cpus || !nodes) return std::nullopt;
    sum += *cpus * *nodes;
  }
  return sum;
}

}  // namespace approx
