// What of a layer's weight gradient is there, for ranks that sum it over all of them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/methods/method.h"
#include "kernels/plan.h"

namespace approx {

struct GradientPart {
  // By the schedule, before the step; the same on all ranks.
  bool is_alike = true;        // all ranks go by one method, or compute it exactly
  bool is_of_all = true;       // all have computed it
  std::vector<int64_t> ranks;  // where not: those that have, ascending

  // By the method and, where that is the same on all ranks, its plan, in the backward pass.
  enum class Kind {
    kAll,
    kChannels,  // of some input channels, the same on all ranks where they go by one method
    kScattered  // by a method; zeros may lie anywhere
  };
  Kind kind = Kind::kAll;
  at::Tensor channels;  // [k] int64, ascending, along the second axis

  // Notes the part of a weight gradient that `method` planned so, in a layer of so many groups. The
  // kind is the same on all ranks that go by one method, whatever their examples and draws.
  void note(const Plan& plan, const Method& method, int64_t groups);
};

}  // namespace approx
