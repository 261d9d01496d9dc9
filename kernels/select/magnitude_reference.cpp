#include <cmath>

#include "kernels/select/magnitude.h"

namespace approx {

template <typename Number>
void plane_magnitude_reference(const MagnitudeArgs<Number>& a, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t c = 0; c < a.co; ++c) {
      double sum = 0;
      for (int64_t p = 0; p < a.plane; ++p) {
        sum += std::abs(static_cast<float>(a.dy[(n * a.plane + p) * a.co + c]));
      }
      a.sum[n * a.co + c] = static_cast<float>(sum);
    }
  }
}

template void plane_magnitude_reference(const MagnitudeArgs<float>&, int64_t, int64_t);
template void plane_magnitude_reference(const MagnitudeArgs<BFloat16>&, int64_t, int64_t);

}  // namespace approx
