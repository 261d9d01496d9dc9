// A product under a sample of channels, on tensors, as arguments for the kernels that read through
// its list (kernels/trials/fused_gather.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/operands.h"
#include "kernels/plan.h"
#include "kernels/trials/fused_gather.h"

namespace approx {

template <typename Number>
struct FusedProduct {
  ListedWeights<Number> weights;  // they must be gathered first
  bool sums = false;              // whether it sums over the sample; else the result has that axis
  SampleSum<Number> sum;          // only one of `sum` and `spread` is used
  SampleSpread<Number> spread;
  at::Tensor result;               // the kernel writes it, channels last
  std::vector<at::Tensor> memory;  // tensors that it reads, and the gathered weights
};

// Whether there is a list to read through. The forward product has one under a sample of its input
// channels, the data gradient under a sample of input or output channels.
bool goes_through_list(const Sampled& plan, const Operands& operands);

// Makes the arguments for such a plan, with operands in `Number` of a problem that
// takes_fused_gather. Scales of summed channels go into the weights, rounded once with them, as
// where a separate pass gathers them. Scales of channels in the result are applied to its sums,
// before these are rounded.
template <typename Number>
FusedProduct<Number> fused_product(const Sampled& plan, const Operands& operands);

}  // namespace approx
