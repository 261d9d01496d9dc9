#include "kernels/select/nm_image.h"

#include <cmath>
#include <vector>

#include "kernels/select/magnitude.h"

namespace approx {
namespace {

template <typename Number>
int64_t nm_image(const NmArgs<Number>& args, int64_t plane, int64_t begin, int64_t first_draw) {
  const int64_t image = plane * args.channels;
  const auto add_magnitudes = [&](const Number* from, std::vector<float>& sums) {
    plane_magnitude_simd(MagnitudeArgs<Number>{1, plane, args.channels, from, sums.data()}, 0, 1);
  };
  // For numbers whose sums exceed the range of float: the sums of scaled numbers.
  const auto add_scaled = [&](const Number* from, std::vector<float>& sums) {
    std::vector<Number> less(from, from + image);
    for (auto& number : less) number = Number(static_cast<float>(number) * 0x1p-64F);
    add_magnitudes(less.data(), sums);
  };
  const int64_t kept = nm_simd(args, begin, begin + image, first_draw);
  const Number* whole = args.dy + begin;
  Number* own = args.pruned + begin;
  std::vector<float> all(static_cast<size_t>(args.channels)), factor(all.size());
  add_magnitudes(whole, all);
  add_magnitudes(own, factor);
  bool is_finite = true;
  for (size_t c = 0; c < factor.size(); ++c) {
    is_finite = is_finite && std::isfinite(all[c]);
    factor[c] = rescaling_factor(all[c], factor[c]);
  }
  if (!is_finite) {
    std::vector<float> less(all.size()), less_left(all.size());
    add_scaled(whole, less);
    add_scaled(own, less_left);
    for (size_t c = 0; c < factor.size(); ++c) {
      if (!std::isfinite(all[c])) factor[c] = rescaling_factor(less[c], less_left[c]);
    }
  }
  scale_channels_simd(ChannelFactors<Number>{plane, args.channels, factor.data(), own});
  return kept;
}

}  // namespace

int64_t nm_image_simd(const NmArgs<float>& args, int64_t plane, int64_t begin, int64_t first_draw) {
  return nm_image(args, plane, begin, first_draw);
}
int64_t nm_image_simd(const NmArgs<BFloat16>& args, int64_t plane, int64_t begin,
                      int64_t first_draw) {
  return nm_image(args, plane, begin, first_draw);
}

}  // namespace approx
