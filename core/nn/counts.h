// What is counted of a layer, summed over steps.
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

// What one method did for one product of one layer. Counts of entries that a method kept of a
// gradient lie on its device: reading them waits for it, so that is left to whoever asks, once in a
// while.
struct UseCount {
  int64_t calls = 0;
  double dense_macs = 0;     // of the exact product in its place, see LayerCounts::dense_macs
  double host_macs = 0;      // really needed, besides those of kept entries
  double entries = 0;        // of the gradients and results that were replaced
  double host_kept = 0;      // kept of them, where the count is known without asking the device
  at::Tensor device_kept;    // [] double, where it is not; undefined: none
  double macs_per_kept = 0;  // multiply-accumulates that one entry of device_kept stands for

  // `pruned`: what the plan makes of the gradient (pruned_gradient).
  void add(const Plan& plan, const PrunedGradient& pruned, const Operands& operands);
  void add_finished(const Finished& finished);

  double kept() const;
  double macs() const;
  // The share of entries kept; 1 if values changed and none was dropped, NaN without entries.
  double density() const;
};

// How many entries are not zero of the gradient of a layer's output, as the weight gradient takes
// it: behind a ReLU and after any pruning of it or of the data gradient that it comes from. This is
// the gradient density of Ye et al. 2020, section 6.3.
struct GradientCount {
  at::Tensor nonzero;  // [] int64 on its device; undefined: no gradient came by
  int64_t entries = 0;

  void count(const at::Tensor& gradient);
};

// Where a layer writes what it did in a step. Null: nobody asks.
struct LayerCounts {
  std::array<UseCount*, 3> use{};  // by Product, of its method
  // By Product, where a forward pass in training adds the multiply-accumulates of the exact product
  // of what it was given: images grow, and a step may have fewer than was asked for.
  std::array<double*, 3> dense_macs{};
  GradientCount* gradient = nullptr;  // where the step counts it; convolutions alone do
  LayerVariants* variants = nullptr;  // told what computes each product
  GradientPart* part = nullptr;       // told what of the weight gradient is there

  UseCount* of(Product product) const { return use[static_cast<size_t>(product)]; }
};

}  // namespace approx
