// Unbiased N:M pruning of a gradient, on tensors [N,C,H,W] of any device and precision.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

#include "kernels/plan.h"
#include "kernels/rng.h"
#include "kernels/select/select.h"
#include "kernels/select/unbiased_group.h"

namespace approx {

// The direction of the groups of N:M pruning.
enum class GroupAxis : uint8_t {
  kChannels,  // m neighbouring channels of a pixel
  kPixels     // m neighbouring pixels of a channel, in the order example, row, column
};

struct UnbiasedChoice {
  int64_t n = 2, m = 4;  // n <= m <= UnbiasedGroup::kMost; a last group has fewer than m
  GroupAxis axis = GroupAxis::kChannels;
  Chances chances = Chances::kMagnitude;
};

// Keeps n of every m numbers, each with a known chance, and divides it by that chance
// (kernels/select/unbiased_group.h). A group has one draw. Draw i belongs to group i in the order
// pixel, group of its channels; or group of pixels, channel. The result is the same on every device
// and for any number of threads. Numbers beyond the range of the precision of dy become its
// largest. On the device of dy; nothing waits.
PrunedDY unbiased_pruned(const at::Tensor& dy, const UnbiasedChoice& choice, const Rng& rng,
                         Choosing how = Choosing::kFastest);

}  // namespace approx
