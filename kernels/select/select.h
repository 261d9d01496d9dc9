// Choosing what stays of a gradient, on tensors [N,C,H,W] of any device and precision.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "kernels/plan.h"
#include "kernels/rng.h"
#include "kernels/select/peaks.h"

namespace approx {

// How a choice is made: by loops over memory where there are such, by their definition, or by
// operations on tensors. All draw the same numbers.
enum class Choosing { kFastest, kReference, kTensors };

// Whether there are loops for it: on the CPU, of floats and bfloat16.
bool loops(const at::Tensor& dy);

// What stays of a gradient, counted.
PrunedDY counted(at::Tensor pruned);

// See kernels/select/pruned.h. `tau` [] float (of double: double), on the device of dy; rounded to
// the precision of dy before anything is compared with it, so that the result is unbiased in any
// precision. Beyond its range the largest number of that precision stands for it.
PrunedDY stochastic_pruned(const at::Tensor& dy, const at::Tensor& tau, const Rng& rng,
                           Choosing how = Choosing::kFastest);

// The same into dy itself where there are loops for it; dy may or may not be another afterwards.
PrunedDY stochastic_pruned_over(at::Tensor dy, const at::Tensor& tau, const Rng& rng);

// See kernels/select/nm_choice.h.
PrunedDY nm_pruned(const at::Tensor& dy, const NmChoice& choice, const Rng& rng,
                   Choosing how = Choosing::kFastest);

// The k entries of largest magnitude of every example stay, of equal ones the first in the order
// channel, row, column. Every NaN stays, beyond the k if need be: it must not vanish.
PrunedDY largest_of_each_example(const at::Tensor& dy, int64_t k);

// Whether there are loops for plane_peak where dy is: on the CPU, and on a GPU whose kernels are
// open.
bool has_plane_peak(const at::Tensor& dy);

// For every plane of such a dy: the position of its largest magnitude [N,C,1] int32 (the first
// of equals) and its signed sum [N,C,1] float.
std::pair<at::Tensor, at::Tensor> plane_peak(const at::Tensor& dy,
                                             Choosing how = Choosing::kFastest);

// Whether there is a kernel for plane_peaks where dy is: on a GPU whose kernels are open, of up to
// kMostPeaks.
bool has_plane_peaks(const at::Tensor& dy, int64_t k);

// For every plane of such a dy, which is not empty: its k positions of largest magnitude (all where
// it has fewer), [N,C,k] int32, and what they carry, [N,C,k] float (kernels/select/peaks.h). On the
// device of dy; nothing waits.
std::pair<at::Tensor, at::Tensor> plane_peaks(const at::Tensor& dy, int64_t k, PeakScale scale,
                                              float factor);

// The sum of magnitudes of every plane of dy, [N,C,1,1] double, to 1e-6 of it
// (kernels/long_sums.h). Finite if dy is. On the device of dy; nothing waits.
at::Tensor plane_magnitude(const at::Tensor& dy, Choosing how = Choosing::kFastest);

// The mean magnitude of all of dy, which is not empty, to 1e-6 of it: [] float (of double: double)
// on its device; nothing waits. Finite if dy is.
at::Tensor mean_magnitude(const at::Tensor& dy);

// The same factor as that of numbers (kernels/select/nm_choice.h), for tensors of sums.
at::Tensor rescaling_factor(const at::Tensor& all, const at::Tensor& left);

// Multiplies `pruned` by that factor, which is rounded to a float (of double: a double).
void rescale(at::Tensor& pruned, const at::Tensor& all, const at::Tensor& left);

// Where the k largest of `scores` [n] are, [k] int64 ascending; of equals the first, and what is no
// number before all others. On the device of the scores; nothing waits.
at::Tensor largest(const at::Tensor& scores, int64_t k, Choosing how = Choosing::kFastest);

// The Euclidean norms of the slices of a tensor [A,B,H,W] along its first (dim = 0) or second
// dimension, [A] or [B] double, each to 1e-6 of it. Finite if the tensor is. On the CPU, beside
// slices of a norm of at least 2^-50, one of numbers below 2^-75 may have the norm 0. On the device
// of the tensor; nothing waits.
at::Tensor slice_norms(const at::Tensor& tensor, int64_t dim, Choosing how = Choosing::kFastest);

}  // namespace approx
