// The words that a report has for how a number of a paper and ours compare; a page shows them as
// labels. docs/reading-tables.md says when each is given.
#pragma once

#include <string_view>

namespace approx {

enum class Verdict { kReproduced, kByConstruction, kDiffers, kNotComparable, kNotRun };

inline constexpr Verdict kAllVerdicts[] = {Verdict::kReproduced, Verdict::kByConstruction,
                                           Verdict::kDiffers, Verdict::kNotComparable,
                                           Verdict::kNotRun};

constexpr std::string_view name(Verdict verdict) {
  switch (verdict) {
    case Verdict::kReproduced:
      return "REPRODUCED";
    case Verdict::kByConstruction:
      return "BY CONSTRUCTION";
    case Verdict::kDiffers:
      return "DIFFERS";
    case Verdict::kNotComparable:
      return "NOT COMPARABLE";
    case Verdict::kNotRun:
      return "NOT RUN";
  }
  return "";
}

}  // namespace approx
