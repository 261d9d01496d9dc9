// How much a method kept of a gradient the time before, where to know how much it is this time
// would be to wait for a device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <optional>
#include <string_view>

#include "core/methods/method.h"
#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {

// One layer's, under one method.
class KeptBefore {
 public:
  // Where a rule of kernels goes by the density of a pruned dY, and that is counted on a device:
  // gives the plan the share that the one before it kept.
  void tell(Plan& plan, const Operands& operands);

  // The share that the plan before this one kept, exactly, and so the same in equal runs; 1 where
  // this is the first. Starts a copy of this one's count. That of the plan before is as old as a
  // step: where it is waited for, all that a step asked of the device since is still ahead of it.
  double exchange(const PrunedDY& plan);

 private:
  at::Tensor kept_;  // [] int64 on the CPU; undefined: there was none
  int64_t entries_ = 0;
  std::optional<c10::Event> copied_;  // where kept_ comes from a device
};

// What the host must wait for in every step of a layer under `method`, "" for nothing: what the
// method waits for, or what KeptBefore does (Method::waits_for).
std::string_view waits_for(const Method& method);

}  // namespace approx
