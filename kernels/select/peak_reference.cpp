#include <cmath>

#include "kernels/float16.h"
#include "kernels/select/peak.h"

namespace approx {

template <typename Number>
void plane_peak_reference(const PeakArgs<Number>& a, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t c = 0; c < a.co; ++c) {
      const Number* plane = a.dy + n * a.plane * a.co + c;
      const auto at = [&](int64_t p) { return static_cast<float>(plane[p * a.co]); };
      double sum = 0;
      int64_t peak = 0;
      for (int64_t p = 0; p < a.plane; ++p) {
        sum += at(p);
        if (std::abs(at(p)) > std::abs(at(peak))) peak = p;
      }
      a.position[n * a.co + c] = static_cast<int32_t>(peak);
      a.sum[n * a.co + c] = static_cast<float>(sum);
    }
  }
}

template void plane_peak_reference(const PeakArgs<float>&, int64_t, int64_t);
template void plane_peak_reference(const PeakArgs<BFloat16>&, int64_t, int64_t);
template void plane_peak_reference(const PeakArgs<Float16>&, int64_t, int64_t);

}  // namespace approx
