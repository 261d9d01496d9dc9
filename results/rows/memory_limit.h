// Which memory of a device a kernel's bytes are held against, and how fast that is.
#pragma once

#include <optional>

#include "base/enum_text.h"
#include "base/params.h"

namespace approx {

// The cache that the multiprocessors of a GPU share, as it was measured.
struct L2 {
  double bytes = 0;  // that it holds
  double gbs = 0;    // of a copy that stays in it, read and written
};

// {"l2": {"bytes", "gbs"}} of a row of a benchmark, or of the environment that the store keeps of
// one; nothing where that says nothing of it.
std::optional<L2> l2_of(const Json& json);

enum class MemoryLevel { kMemory, kL2 };

constexpr auto enum_texts(MemoryLevel) {
  return std::to_array<EnumText<MemoryLevel>>(
      {{MemoryLevel::kMemory, "memory"}, {MemoryLevel::kL2, "L2"}});
}

struct MemoryLimit {
  MemoryLevel level = MemoryLevel::kMemory;
  double gbs = 0;
};

// The limit of a product that has to move `bytes`. Called again and again it finds in the L2 what
// fits there; cold, or of more bytes, or where no L2 was measured, it is held against the device's
// memory (`memory_gbs`, of a copy). Nothing where one of the numbers is missing.
std::optional<MemoryLimit> memory_limit(std::optional<double> bytes, bool cold,
                                        std::optional<double> memory_gbs,
                                        const std::optional<L2>& l2);

// What share of a limit a product reaches that moves `bytes` in `ns`.
double share_of(const MemoryLimit& limit, double bytes, double ns);

}  // namespace approx
