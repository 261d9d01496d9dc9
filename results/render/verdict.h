// The words for how a number of a paper and ours compare; a page shows them as labels.
// docs/reading-tables.md says when each is given.
#pragma once

#include <array>

#include "base/enum_text.h"

namespace approx {

enum class Verdict { kReproduced, kByConstruction, kDiffers, kNotComparable, kNotRun };

constexpr auto enum_texts(Verdict) {
  return std::to_array<EnumText<Verdict>>({{Verdict::kReproduced, "REPRODUCED"},
                                           {Verdict::kByConstruction, "BY CONSTRUCTION"},
                                           {Verdict::kDiffers, "DIFFERS"},
                                           {Verdict::kNotComparable, "NOT COMPARABLE"},
                                           {Verdict::kNotRun, "NOT RUN"}});
}

inline constexpr auto kAllVerdicts = all_of_enum<Verdict>();

}  // namespace approx
