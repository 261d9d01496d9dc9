// Prunes a gradient, on tensors [N,C,H,W] of any device and precision.
#pragma once

#include <ATen/core/Tensor.h>

#include <utility>

#include "kernels/plan.h"
#include "kernels/rng.h"
#include "kernels/select/peaks.h"

namespace approx {

// How a choice is computed: by loops over memory where they exist, by their definition, or by
// tensor operations. All use equal draws.
enum class Choosing { kFastest, kReference, kTensors };

// Whether loops exist for a gradient: on the CPU, for float and bfloat16.
bool loops(const at::Tensor& dy);

// A pruned gradient as a plan, with its count.
PrunedDY counted(at::Tensor pruned);

// Stochastic pruning: see kernels/select/pruned.h. `tau` is [] float (for double: double), on the
// device of dy. It is rounded to the precision of dy before any comparison, so that the result is
// unbiased in any precision. If it exceeds the range, the largest number of that precision replaces
// it.
PrunedDY stochastic_pruned(const at::Tensor& dy, const at::Tensor& tau, const Rng& rng,
                           Choosing how = Choosing::kFastest);

// As stochastic_pruned, but into dy itself where loops exist. dy may or may not be changed
// afterwards.
PrunedDY stochastic_pruned_over(at::Tensor dy, const at::Tensor& tau, const Rng& rng);

// N:M pruning: see kernels/select/nm_choice.h.
PrunedDY nm_pruned(const at::Tensor& dy, const NmChoice& choice, const Rng& rng,
                   Choosing how = Choosing::kFastest);

// Keeps the k entries of largest magnitude of every example, of equal ones the first in the order
// channel, row, column. Every NaN is kept, in addition to the k if necessary: it must not vanish.
PrunedDY largest_of_each_example(const at::Tensor& dy, int64_t k);

// Whether loops exist for plane_peak on the device of dy: on the CPU, and on a GPU whose kernels
// are open.
bool has_plane_peak(const at::Tensor& dy);

// The peak of every plane of such a dy: the position of its largest magnitude, [N,C,1] int32, and
// its signed sum, [N,C,1] float. The first of equal magnitudes counts.
std::pair<at::Tensor, at::Tensor> plane_peak(const at::Tensor& dy,
                                             Choosing how = Choosing::kFastest);

// Whether a kernel exists for plane_peaks on the device of dy: on a GPU whose kernels are open, for
// up to kMostPeaks.
bool has_plane_peaks(const at::Tensor& dy, int64_t k);

// For every plane of such a dy, which is not empty: its k positions of largest magnitude, [N,C,k]
// int32, and their values, [N,C,k] float (kernels/select/peaks.h). A plane with fewer positions
// gives all. On the device of dy; nothing waits.
std::pair<at::Tensor, at::Tensor> plane_peaks(const at::Tensor& dy, int64_t k, PeakScale scale,
                                              float factor);

// The sum of magnitudes of every plane of dy, [N,C,1,1] double, to 1e-6 of it
// (kernels/long_sums.h). Finite if dy is. On the device of dy; nothing waits.
at::Tensor plane_magnitude(const at::Tensor& dy, Choosing how = Choosing::kFastest);

// The mean magnitude of all of dy, which is not empty, to 1e-6 of it: [] float (for double: double)
// on its device; nothing waits. Finite if dy is.
at::Tensor mean_magnitude(const at::Tensor& dy);

// The factor of kernels/select/nm_choice.h, for tensors of sums.
at::Tensor rescaling_factor(const at::Tensor& all, const at::Tensor& left);

// Multiplies `pruned` by the rescaling factor, which is rounded to a float (for double: a double).
void rescale(at::Tensor& pruned, const at::Tensor& all, const at::Tensor& left);

// The positions of the k largest of `scores` [n], as [k] int64, ascending. The first of equal
// scores is taken; a NaN comes before all others. On the device of the scores; nothing waits.
at::Tensor largest(const at::Tensor& scores, int64_t k, Choosing how = Choosing::kFastest);

// The Euclidean norms of the slices of a tensor [A,B,H,W] along its first (dim = 0) or second
// dimension, [A] or [B] double. The relative error is at most 1e-6. Norms are finite if the tensor
// is. On the CPU, a slice of numbers below 2^-75 may have the norm 0 if other slices have norms of
// at least 2^-50. On the device of the tensor; nothing waits.
at::Tensor slice_norms(const at::Tensor& tensor, int64_t dim, Choosing how = Choosing::kFastest);

}  // namespace approx
