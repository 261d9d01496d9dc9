// The density of a pruned gradient one step before. A rule of kernels uses it where the density of
// this step is on a device, so that reading it would wait.
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

// The memory of one layer under one method.
class KeptBefore {
 public:
  // Sets plan.expected_density to the share that the plan before this one kept. Does so for a
  // pruned dY alone, if its count is on a device and a rule of kernels depends on the density.
  void tell(Plan& plan, const Operands& operands);

  // Returns the share that the plan before this one kept, and 1 for the first plan. The share is
  // exact, and so equal in equal runs. Starts a copy of this plan's count to the host. Waits for
  // the copy of the count before. That copy is a step old: work that the device was given since
  // need not be done.
  double exchange(const PrunedDY& plan);

 private:
  at::Tensor kept_;  // [] int64 on the CPU; undefined: no plan yet
  int64_t entries_ = 0;
  std::optional<c10::Event> copied_;  // set if kept_ comes from a device
};

// The quantity that the host must wait for in every step of a layer under `method`, in words; "":
// none. The wait is by the method (Method::waits_for) or by KeptBefore.
std::string_view waits_for(const Method& method);

}  // namespace approx
