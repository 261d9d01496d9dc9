// Measures how much the draws of layers add to the variance of a gradient.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Device.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/methods/variance_controlled.h"
#include "core/networks/network.h"
#include "core/train/variance_control.h"

namespace approx {

// A layer whose method has controlled ratios.
struct ControlledLayer {
  std::string name;
  VarianceControlled* method;
  bool samples_weights = false;  // whether its weight gradient takes a second sample in this step
};

// One of the passes of a measurement.
struct MeasuredPass {
  VarianceControlled::Pass pass = VarianceControlled::Pass::kExact;
  int64_t batch = 0;   // below kMeasuredBatches
  int64_t number = 0;  // among the passes of one measurement; draws differ by it
};

// Batches of a measurement, and sampled passes for each of them: M in the paper.
inline constexpr int64_t kMeasuredBatches = 2;

// The passes of one measurement, in their order: for each batch an exact one, then the sampled.
std::vector<MeasuredPass> measured_passes();

// Returns the variance of the gradient between batches, and what samples of examples add to it
// (Wang, Chen & Zhu 2024, section 5). With the exact gradient G_i of batch i and the gradients
// G_ij of its sampled passes:
//   batches  = sum_i |G_i - mean|^2 / (M - 1)
//   examples = sum_ij |G_ij - G_i|^2 / M^2
// Both are over all parameters; `batches` of a layer is over its weight. `weights` of a linear
// layer is the mean of what its method notes in the sampled passes.
//
// `loss` is called for each of measured_passes(). It makes a forward pass of the network in
// training, with layers that compute as the pass says, and returns its loss. Buffers, generators
// and gradients are afterwards as before. Waits for the device.
GradientVariance measured_variance(Network& network, const std::vector<ControlledLayer>& layers,
                                   c10::Device device,
                                   const std::function<at::Tensor(const MeasuredPass&)>& loss);

}  // namespace approx
