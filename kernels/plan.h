// A plan: the computation that a method wants for one product, as data without code. A kernel
// computes one kind of plan and knows no method. A method makes plans and knows no device. A new
// method needs a new kernel only where none of these kinds describes its plan.
#pragma once

#include <ATen/core/Tensor.h>

#include <variant>

#include "kernels/quantized/rounding.h"
#include "kernels/rng.h"
#include "kernels/select/nm_choice.h"

namespace approx {

// The exact product.
struct Dense {};

// No computation. The gradient is zero. With `freeze` it is undefined; the optimizer then leaves
// the weight, its momentum and its decay unchanged in this step.
struct Skip {
  bool freeze = false;
};

// Normal draws in place of the weight gradient, independent of every operand.
struct Gaussian {
  double mean = 0;
  double stddev = 1;
  Rng rng;
  // Each draw is multiplied by this factor before it is rounded to the precision of the result: []
  // float on the device of w; undefined: 1.
  at::Tensor factor;
};

// The exact product with a sparse dY in compressed rows. Row (n, c) has the number n * Co + c and
// the entries row_start[row] .. row_start[row + 1]. Each entry is a position in its plane (h * Wo +
// w), and a value that replaces dY's.
struct SparseDY {
  at::Tensor row_start;  // [N*Co + 1] int64
  at::Tensor position;   // [entries] int32
  at::Tensor value;      // [entries] float

  // Makes k entries in every row: `position` [N,Co,k] of any integer type, `value` [N,Co,k].
  static SparseDY from_topk(const at::Tensor& position, const at::Tensor& value);

  // The entries among zeros, in the sizes, layout and precision of dy.
  at::Tensor densified(const at::Tensor& dy) const;
};

// The exact product with a pruned tensor in place of dY; dropped entries are zero. `kept` counts
// the other entries, [] int64 on the device of dY. It stays there until somebody reads it: a
// training step must not wait for it.
struct PrunedDY {
  at::Tensor dy;  // in the sizes, layout and precision of the operand
  at::Tensor kept;
  // The expected density where `kept` is not on the CPU. It is known without waiting, such as the
  // density of the previous step; 1: unknown.
  double expected_density = 1;
};

// The exact product with n of every m neighbouring output channels of dY at each pixel. The kernel
// itself chooses them. The number of kept entries is known beforehand, so no pruned copy is
// written.
struct StructuredDY {
  NmChoice choice;
  Rng rng;  // where the choice is random; draw i belongs to element i of dY with the channels last
};

// The axes of a layer that a sample can represent. Each product sums over one of them (forward:
// input channels; data gradient: output channels; weight gradient: examples). Its result has the
// other two.
enum class Axis { kInputChannels, kOutputChannels, kExamples };

// The exact product with a factor on each entry of one axis: `scale` where the entry is in the
// sample, 0 elsewhere. If the product sums over the axis, terms of the sum are left out; otherwise
// parts of the result are zero.
struct Sampled {
  Axis axis = Axis::kInputChannels;
  at::Tensor index;  // [k] int64, ascending, none twice; may be empty
  at::Tensor scale;  // [k] float; undefined: all ones
};

// A gradient at the resolution of patches (kernels/pooled/patches.h has the exact meaning). An r x
// r patch of outputs has the mean of its dY, the sum of its inputs, and the weights summed over the
// kernel. Both gradients are then those of a 1x1 convolution with one pixel for each patch.
struct Pooled {
  int64_t r = 2;  // 1 or more; a patch larger than the map is the map
};

// The product of operands that are rounded to 8-bit integers and their scales
// (kernels/quantized/quantized.h has the exact meaning).
struct Quantized {
  Scales scales = Scales::kSlices;
  bool by_chance = true;  // rounds dY up or down by chance, so that it stays the same on average
  Rng rng;                // of those draws; its product is that of the plan
};

using Plan = std::variant<Dense, Skip, Gaussian, SparseDY, PrunedDY, StructuredDY, Sampled, Pooled,
                          Quantized>;

}  // namespace approx
