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

  // By the plan, in the backward pass.
  enum class Kind {
    kAll,
    kChannels,  // of some input channels, the same on all ranks where they go by one method
    kScattered  // zeros may lie anywhere
  };
  Kind kind = Kind::kAll;
  at::Tensor channels;  // [k] int64, ascending, along the second axis

  // Of the weight gradient that `method` planned so, of a layer of so many groups.
  void note(const Plan& plan, const Method& method, int64_t groups);
};

}  // namespace approx
