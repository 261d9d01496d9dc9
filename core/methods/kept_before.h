// How much a method kept of a gradient the time before, where to know how much it is this time
// would be to wait for a device.
#pragma once

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include <cstdint>
#include <mutex>
#include <optional>

#include "kernels/plan.h"

namespace approx {

class KeptBefore {
 public:
  // The share that the plan before this one kept, exactly, and so the same in equal runs; 1 where
  // this is the first, or that was of another layer (outside of a training layers may share a
  // method, threads too). Starts a copy of this one's count. That of the plan before is as old as a
  // step: where it is waited for, all that a step asked of the device since is still ahead of it.
  double exchange(const PrunedDY& plan, uint32_t layer);

 private:
  std::mutex one_by_one_;
  uint32_t layer_ = 0;
  at::Tensor kept_;  // [] int64 on the CPU; undefined: there was none
  int64_t entries_ = 0;
  std::optional<c10::Event> copied_;  // where kept_ comes from a device
};

}  // namespace approx
