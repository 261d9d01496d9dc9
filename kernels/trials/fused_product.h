// A product under a sample of channels, on tensors, as the kernels that go through its list take it
// (kernels/trials/fused_gather.h).
#pragma once

#include <ATen/core/Tensor.h>

#include <vector>

#include "kernels/operands.h"
#include "kernels/plan.h"
#include "kernels/trials/fused_gather.h"

namespace approx {

template <typename Number>
struct FusedProduct {
  ListedWeights<Number> weights;  // to be gathered first
  bool sums = false;              // over the sample; else the result carries it
  SampleSum<Number> sum;          // one of the two
  SampleSpread<Number> spread;
  at::Tensor result;               // that it writes, channels last
  std::vector<at::Tensor> memory;  // that it reads, and the gathered weights
};

// Whether there is a list to go through: the forward product under a sample of its input channels,
// the data gradient under one of either kind of channels.
bool goes_through_list(const Sampled& plan, const Operands& operands);

// For such a plan, and operands in `Number` of a problem that takes_fused_gather. The scales of
// what is summed go into the weights, rounded once with them as where a pass of its own gathers
// them; those of what the result carries go on its sums, before these are rounded.
template <typename Number>
FusedProduct<Number> fused_product(const Sampled& plan, const Operands& operands);

}  // namespace approx
