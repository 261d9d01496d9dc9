// N:M pruning by its definition, of a whole gradient, and what its checks share.
#pragma once

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "kernels/float16.h"
#include "kernels/select/pruned.h"
#include "tests/kernel_checks/checks.h"

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

// Draws how many pixels there are. How is chosen and what is rescaled follows from the seed, so
// that a few cases have all.
template <typename Number>
void draw_nm(uint64_t seed, Draws& draw, NmOnGpu<Number>& on) {
  static constexpr int64_t kPlanes[] = {1, 5, 7, 40, 49};
  on.images = 1 + draw.below(3);
  on.args.pixels = on.images * (draw.below(2) == 0 ? kPlanes[draw.below(5)] : 1 + draw.below(40));
  // Planes of which threads take several turns.
  if (draw.below(6) == 0) on.images = 1, on.args.pixels = 300 + draw.below(300);
  const uint64_t how = seed % 6;
  on.args.random = how == 0 || how == 5;
  on.args.rescale_group = how == 1;
  on.rescale_plane = how > 2;
}

// Where `got` is not `wanted`, bit for bit, or "". Sums of planes are added up in another order, so
// a product may be rounded to the next, which may be far by its own measure if it is denormal.
// Without `signs_of_zeros` all zeros are alike.
template <typename Number>
std::string nm_difference(const NmOnGpu<Number>& on, const std::vector<Number>& got,
                          const std::vector<Number>& wanted, bool signs_of_zeros) {
  const double tolerance = std::is_same_v<Number, float> ? 1e-5 : 1e-2;
  const double least = std::is_same_v<Number, float>      ? 0x1p-149
                       : std::is_same_v<Number, BFloat16> ? 0x1p-133
                                                          : 0x1p-24;
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto own = static_cast<float>(got[i]), right = static_cast<float>(wanted[i]);
    const bool same =
        bits_of(own) == bits_of(right) || (!signs_of_zeros && own == 0 && right == 0) ||
        (on.rescale_plane && std::abs(own - right) <= tolerance * std::abs(right) + least);
    if (!same) return fmt::format("entry {} is {} and not {}", i, own, right);
  }
  return {};
}

// What is wrong, and of which case.
template <typename Number>
std::string described(const NmOnGpu<Number>& on, const std::string& wrong) {
  const auto& args = on.args;
  return fmt::format("{} ({} of {}, {} channels, {} pixels of {} images{}{}{})", wrong, args.n,
                     args.m, args.channels, args.pixels, on.images, args.random ? ", random" : "",
                     args.rescale_group ? ", by group" : "", on.rescale_plane ? ", by plane" : "");
}

}  // namespace approx
