#include <cmath>

#include "kernels/select/peak.h"

namespace approx {

void plane_peak_reference(const PeakArgs& a, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t c = 0; c < a.co; ++c) {
      const float* plane = a.dy + n * a.plane * a.co + c;
      double sum = 0;
      int64_t peak = 0;
      for (int64_t p = 0; p < a.plane; ++p) {
        sum += plane[p * a.co];
        if (std::abs(plane[p * a.co]) > std::abs(plane[peak * a.co])) peak = p;
      }
      a.position[n * a.co + c] = static_cast<int32_t>(peak);
      a.sum[n * a.co + c] = static_cast<float>(sum);
    }
  }
}

}  // namespace approx
