#include "results/stats/deciding.h"

#include <algorithm>
#include <cmath>

namespace approx {

Ratio deciding(const Ratio& ratio, int64_t occasions) {
  Ratio decides = ratio;
  if (!ratio.lo || !ratio.hi || ratio.n < kProcessesForATiming) {
    decides.lo = decides.hi = std::nullopt;
    return decides;
  }
  // On logarithms an interval is as many standard errors wide as its confidence asks for.
  double wider = 1;
  if (ratio.n < kProcessesForAVerdict) {
    const auto degrees = static_cast<double>(ratio.n - 1);
    wider = t_quantile(degrees, kEarlyConfidence) / t_quantile(degrees);
  }
  const double spread = occasions > 1 ? 0 : std::log1p(kOccasionSpread);
  const auto reach = [&](double end) {
    return std::max(wider * std::abs(std::log(end / ratio.ratio)), spread);
  };
  decides.lo = ratio.ratio * std::exp(-reach(*ratio.lo));
  decides.hi = ratio.ratio * std::exp(reach(*ratio.hi));
  return decides;
}

}  // namespace approx
