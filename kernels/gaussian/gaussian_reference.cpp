#include <cmath>
#include <numbers>

#include "kernels/gaussian/gaussian.h"

namespace approx {

void gaussian_reference(const GaussianArgs& args, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i += 4) {
    const auto words = args.rng.block(static_cast<uint32_t>(i / 4));
    for (int64_t pair = 0; pair < 2; ++pair) {
      // (Box & Muller 1958) radius from the first word, angle from the second.
      const double radius = std::sqrt(-2 * std::log(double{Rng::uniform(words[2 * pair])}));
      const double angle = 2 * std::numbers::pi * Rng::uniform(words[2 * pair + 1]);
      const double normal[2] = {radius * std::cos(angle), radius * std::sin(angle)};
      for (int64_t j = 0; j < 2; ++j) {
        const int64_t at = i + 2 * pair + j;
        if (at < end) args.out[at] = static_cast<float>(args.mean + args.stddev * normal[j]);
      }
    }
  }
}

REGISTER_KERNEL(Gaussian, "reference", gaussian_reference)
    .computes({Product::kWeightGradient})
    .definition();

}  // namespace approx
