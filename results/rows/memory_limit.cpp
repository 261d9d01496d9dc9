#include "results/rows/memory_limit.h"

namespace approx {

std::optional<L2> l2_of(const Json& json) {
  if (!json.is_object()) return std::nullopt;
  const auto l2 = json.find("l2");
  if (l2 == json.end() || !l2->is_object()) return std::nullopt;
  const auto positive = [&](const char* key) {
    const auto it = l2->find(key);
    return it != l2->end() && it->is_number() ? it->get<double>() : 0;
  };
  const L2 found{.bytes = positive("bytes"), .gbs = positive("gbs")};
  return found.bytes > 0 && found.gbs > 0 ? std::optional(found) : std::nullopt;
}

std::optional<MemoryLimit> memory_limit(std::optional<double> bytes, bool cold,
                                        std::optional<double> memory_gbs,
                                        const std::optional<L2>& l2) {
  if (!bytes) return std::nullopt;
  if (l2 && !cold && *bytes <= l2->bytes) {
    return MemoryLimit{.level = MemoryLevel::kL2, .gbs = l2->gbs};
  }
  if (!memory_gbs || !(*memory_gbs > 0)) return std::nullopt;
  return MemoryLimit{.level = MemoryLevel::kMemory, .gbs = *memory_gbs};
}

double share_of(const MemoryLimit& limit, double bytes, double ns) {
  return bytes / ns / limit.gbs;  // bytes in a nanosecond are gigabytes in a second
}

}  // namespace approx
