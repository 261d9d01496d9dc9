// Counts of a layer's work, summed over steps.
#pragma once

#include <ATen/core/Tensor.h>

#include <array>
#include <cstdint>

#include "core/methods/method.h"
#include "core/nn/gradient_part.h"
#include "kernels/operands.h"
#include "kernels/plan_traits.h"
#include "kernels/variant_counts.h"

namespace approx {

// The work that one method did for one product of one layer. Counts of entries that a method kept
// of a gradient lie on the device of the gradient. Reading them waits for the device: read them
// rarely.
struct UseCount {
  int64_t calls = 0;
  double dense_macs = 0;     // of the exact product, see LayerCounts::dense_macs
  double host_macs = 0;      // really needed, besides those for kept entries
  double entries = 0;        // of the gradients and results that the method replaced
  double host_kept = 0;      // entries kept of them, by counts on the host
  at::Tensor device_kept;    // [] double: entries kept, by a count on the device
  double macs_per_kept = 0;  // multiply-accumulates that one entry of device_kept stands for

  // `pruned`: the gradient as the plan makes it (pruned_gradient).
  void add(const Plan& plan, const PrunedGradient& pruned, const Operands& operands);
  void add_finished(const Finished& finished);

  double kept() const;
  double macs() const;
  // The share of entries kept. 1 if values changed and none was dropped, NaN without entries.
  double density() const;
};

// The number of nonzero entries of dY, the gradient of a layer's output, as the weight gradient
// reads it. ReLUs have acted on that dY, and so has any pruning of dY or of the data gradient that
// dY comes from. Ye et al. 2020, section 6.3, call nonzero / entries the gradient density.
struct GradientCount {
  at::Tensor nonzero;  // [] int64 on the gradient's device; undefined: no gradient yet
  int64_t entries = 0;

  void count(const at::Tensor& gradient);
};

// Where a layer writes its counts of a step. Null: the count is not wanted.
struct LayerCounts {
  std::array<UseCount*, 3> use{};  // by Product, of the product's method
  // By Product. A forward pass in training adds the multiply-accumulates of the exact product on
  // the input that it was given. They vary: images grow, and a step may have fewer images than were
  // asked for.
  std::array<double*, 3> dense_macs{};
  GradientCount* gradient = nullptr;  // of dY, in the steps that count it; of convolutions alone
  LayerVariants* variants = nullptr;  // the kernel variant that computes each product
  GradientPart* part = nullptr;       // the part of the weight gradient that was computed

  UseCount* of(Product product) const { return use[static_cast<size_t>(product)]; }
};

}  // namespace approx
