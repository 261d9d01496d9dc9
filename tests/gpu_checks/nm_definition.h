// N:M pruning by its definition, of a whole gradient.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/float16.h"
#include "kernels/select/pruned.h"

namespace approx {

// What stays of `values`. `kept`: how many are not zero.
template <typename Number>
std::vector<Number> nm_by_definition(const NmOnGpu<Number>& on, const std::vector<Number>& values,
                                     int64_t& kept) {
  std::vector<Number> wanted(values.size());
  NmArgs<Number> args = on.args;
  args.dy = values.data();
  args.pruned = wanted.data();
  kept = nm_reference(args, 0, args.pixels);
  if (!on.rescale_plane) return wanted;
  const int64_t plane = args.pixels / on.images;
  for (int64_t n = 0; n < on.images; ++n) {
    for (int64_t c = 0; c < args.channels; ++c) {
      double all = 0, left = 0;
      for (int64_t pixel = n * plane; pixel < (n + 1) * plane; ++pixel) {
        const auto at = static_cast<size_t>(pixel * args.channels + c);
        all += std::abs(static_cast<float>(values[at]));
        left += std::abs(static_cast<float>(wanted[at]));
      }
      const double factor = rescaling_factor(all, left);
      for (int64_t pixel = n * plane; pixel < (n + 1) * plane; ++pixel) {
        auto& value = wanted[static_cast<size_t>(pixel * args.channels + c)];
        value = Number(static_cast<float>(static_cast<float>(value) * factor));
      }
    }
  }
  return wanted;
}

}  // namespace approx
