#include "results/stats/false_verdicts.h"

namespace approx {

bool FalseVerdicts::passed() const {
  constexpr int64_t kAllowedPercent = 5;  // 1 - kConfidence, in numbers that compare exactly
  return 100 * false_ones <= kAllowedPercent * n;
}

FalseVerdicts false_verdicts(std::span<const Ratio> ratios) {
  FalseVerdicts result;
  for (const Ratio& ratio : ratios) {
    const SpeedChange change = speed_change(ratio);
    ++result.n;
    if (change == SpeedChange::kFaster || change == SpeedChange::kSlower) ++result.false_ones;
    if (ratio.lo && ratio.hi && (*ratio.lo > 1 || *ratio.hi < 1)) ++result.without_one;
  }
  return result;
}

}  // namespace approx
