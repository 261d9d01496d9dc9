#include "core/experiment/seeds_reader.h"

#include <set>

#include "base/range.h"

namespace approx {
namespace {

constexpr int64_t kMaxSeed = 4'294'967'295;

}  // namespace

std::vector<int64_t> read_seeds(const TomlSource& source, const toml::node& node,
                                const std::string& path) {
  std::vector<int64_t> seeds;
  std::set<int64_t> seen;
  source.each(node, path, [&](const toml::node& item, const std::string& at) {
    std::vector<int64_t> values;
    if (const auto integer = item.value_exact<int64_t>()) {
      values = {*integer};
    } else if (item.is_string()) {
      const auto text = source.text(item, at);
      values = source.at(item, at, [&] { return parse_range(text); });
    } else {
      throw source.error(item, at, "expected an integer or a range such as \"0-9\", got {}",
                         type_name(item));
    }
    for (const auto seed : values) {
      if (seed < 0 || seed > kMaxSeed) {
        throw source.error(item, at, "{}: a seed lies from 0 to {}", seed, kMaxSeed);
      }
      if (!seen.insert(seed).second) throw source.error(item, at, "{} is given twice", seed);
      seeds.push_back(seed);
    }
  });
  return seeds;
}

}  // namespace approx
