// Choosing what stays of a gradient, on tensors [N,C,H,W] of any device and precision.
#pragma once

#include <ATen/core/Tensor.h>

#include "kernels/plan.h"
#include "kernels/rng.h"

namespace approx {

// What stays of a gradient, counted.
PrunedDY counted(at::Tensor pruned);

// See kernels/select/pruned.h. `tau` [] float, on the device of dy. On the CPU in float a loop;
// elsewhere, and where `loop` is false, tensor operations with the same draws.
PrunedDY stochastic_pruned(const at::Tensor& dy, const at::Tensor& tau, const Rng& rng,
                           bool loop = true);

struct NmChoice {
  int64_t n = 2, m = 4;
  bool random = false;
  bool rescale_group = false;
};
PrunedDY nm_pruned(const at::Tensor& dy, const NmChoice& choice, const Rng& rng, bool loop = true);

// The k entries of largest magnitude of every example stay, of equal ones the first in the order
// channel, row, column. Every NaN stays, beyond the k if need be: it must not vanish.
PrunedDY largest_of_each_example(const at::Tensor& dy, int64_t k);

}  // namespace approx
