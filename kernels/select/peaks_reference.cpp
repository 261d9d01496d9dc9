#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/float16.h"
#include "kernels/select/peaks.h"

namespace approx {
namespace {

double ratio_or_one(double above, double below) { return below == 0 ? 1 : above / below; }

}  // namespace

template <typename Number>
void plane_peaks_reference(const PeaksArgs<Number>& a, int64_t begin, int64_t end) {
  std::vector<int32_t> order(static_cast<size_t>(a.plane));
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t c = 0; c < a.co; ++c) {
      const Number* plane = a.dy + n * a.plane * a.co + c;
      const auto at = [&](int64_t p) { return double{static_cast<float>(plane[p * a.co])}; };
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int32_t i, int32_t j) {
        const bool i_is_none = std::isnan(at(i)), j_is_none = std::isnan(at(j));
        if (i_is_none || j_is_none) return i_is_none && !j_is_none;
        return std::abs(at(i)) > std::abs(at(j));
      });
      double sum = 0, magnitude = 0, kept = 0, kept_magnitude = 0;
      for (int64_t p = 0; p < a.plane; ++p) sum += at(p), magnitude += std::abs(at(p));
      for (int64_t i = 0; i < a.k; ++i) {
        kept += at(order[static_cast<size_t>(i)]);
        kept_magnitude += std::abs(at(order[static_cast<size_t>(i)]));
      }
      for (int64_t i = 0; i < a.k; ++i) {
        const int32_t position = order[static_cast<size_t>(i)];
        double value = at(position);
        if (a.scale == PeakScale::kEqual) value = sum / static_cast<double>(a.k);
        if (a.scale == PeakScale::kSigned) value *= ratio_or_one(sum, kept);
        if (a.scale == PeakScale::kL1) value *= ratio_or_one(magnitude, kept_magnitude);
        a.position[(n * a.co + c) * a.k + i] = position;
        a.value[(n * a.co + c) * a.k + i] = static_cast<float>(value * double{a.factor});
      }
    }
  }
}

template void plane_peaks_reference(const PeaksArgs<float>&, int64_t, int64_t);
template void plane_peaks_reference(const PeaksArgs<BFloat16>&, int64_t, int64_t);
template void plane_peaks_reference(const PeaksArgs<Float16>&, int64_t, int64_t);

}  // namespace approx
