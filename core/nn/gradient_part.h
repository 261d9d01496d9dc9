// Which part of a layer's weight gradient was computed. Ranks that sum the gradient read it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/methods/method.h"
#include "kernels/plan.h"

namespace approx {

struct GradientPart {
  // Set by the schedule before the step; equal on all ranks.
  bool is_alike = true;        // all ranks use one method, or all compute exactly
  bool is_of_all = true;       // all ranks have computed the gradient
  std::vector<int64_t> ranks;  // if not is_of_all: those that have, ascending

  // Set in the backward pass, by the method and its plan. The plan counts only if it is equal on
  // all ranks.
  enum class Kind {
    kAll,
    kChannels,  // some input channels; equal on all ranks that use one method
    kScattered  // computed by a method; zeros may lie anywhere
  };
  Kind kind = Kind::kAll;
  at::Tensor channels;  // [k] int64, ascending, along the second axis

  // Notes the part of a weight gradient that `method` planned as `plan`, in a layer of `groups`
  // groups. The kind is equal on all ranks that use one method, whatever their examples and draws.
  void note(const Plan& plan, const Method& method, int64_t groups);
};

}  // namespace approx
