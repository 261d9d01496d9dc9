// What a method wants computed for one product: data, no code. A kernel computes one kind of plan
// and knows no method; a method makes plans and knows no device. Adding a method needs a kernel
// only when none of these kinds describes it.
#pragma once

#include <ATen/core/Tensor.h>

#include <variant>

#include "kernels/rng.h"
#include "kernels/select/nm_choice.h"

namespace approx {

// The exact product.
struct Dense {};

// No computation. The weight gradient is zero; with `freeze` there is none, so that the optimizer
// leaves the weight, its momentum and its decay alone at this step.
struct Skip {
  bool freeze = false;
};

// Normal draws in place of the weight gradient, independent of every operand.
struct Gaussian {
  double mean = 0;
  double stddev = 1;
  Rng rng;
  // What each draw is multiplied by before it is rounded to the precision of the result: [] float
  // on the device of w; undefined: 1.
  at::Tensor factor;
};

// The exact product with a sparse dY. Compressed rows: row (n, c), that is n * Co + c, keeps
// entries row_start[row] .. row_start[row + 1]; each is a position in its plane (h * Wo + w) and
// the value that stands there instead of dY's.
struct SparseDY {
  at::Tensor row_start;  // [N*Co + 1] int64
  at::Tensor position;   // [entries] int32
  at::Tensor value;      // [entries] float

  // k entries in every row: `position` [N,Co,k] of any integer type, `value` [N,Co,k].
  static SparseDY from_topk(const at::Tensor& position, const at::Tensor& value);

  // The entries among zeros, in the sizes, layout and precision of dy.
  at::Tensor densified(const at::Tensor& dy) const;
};

// The exact product with another tensor in place of dY: one that was pruned, and holds zeros where
// entries were dropped. `kept` counts the others, [] int64 on the device of dY, where it stays
// until somebody reads it: a training step must not wait for it.
struct PrunedDY {
  at::Tensor dy;  // in the sizes, layout and precision of the operand
  at::Tensor kept;
  // Where that is not on the CPU: about which share it is, known without waiting, such as the share
  // of the step before; 1: unknown.
  double expected_density = 1;
};

// The exact product with n of every m neighbouring output channels of dY at each pixel, which the
// kernel chooses itself: how many stay is known beforehand, so nothing needs to be written out.
struct StructuredDY {
  NmChoice choice;
  Rng rng;  // where the choice is random; draw i belongs to element i of dY with the channels last
};

// The axes of a layer, of which a sample can stand for the whole. Each product sums over one of
// them (forward: input channels; data gradient: output channels; weight gradient: examples) and
// carries the other two in its result.
enum class Axis { kInputChannels, kOutputChannels, kExamples };

// The exact product with a factor on each entry of one axis: `scale` where the entry is in the
// sample, 0 elsewhere. Where the product sums over the axis, that leaves terms of the sum out;
// otherwise parts of the result are zero.
struct Sampled {
  Axis axis = Axis::kInputChannels;
  at::Tensor index;  // [k] int64, ascending, none twice; may be empty
  at::Tensor scale;  // [k] float; undefined: all ones
};

using Plan = std::variant<Dense, Skip, Gaussian, SparseDY, PrunedDY, StructuredDY, Sampled>;

}  // namespace approx
