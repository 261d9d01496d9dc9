#include "core/methods/kept_before.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

namespace approx {

double KeptBefore::exchange(const PrunedDY& plan, uint32_t layer) {
  const std::lock_guard lock(one_by_one_);
  if (copied_) copied_->synchronize();
  double share = 1;
  if (kept_.defined() && entries_ > 0 && layer == layer_) {
    share = static_cast<double>(*kept_.const_data_ptr<int64_t>()) / static_cast<double>(entries_);
  }
  entries_ = plan.dy.numel();
  layer_ = layer;
  const auto place = plan.kept.device();
  if (!kept_.defined()) {
    // A device copies to memory that is pinned without being waited for.
    kept_ = at::empty({}, at::TensorOptions().dtype(at::kLong).pinned_memory(place.is_cuda()));
  }
  kept_.copy_(plan.kept, /*non_blocking=*/true);
  if (!place.is_cpu()) {
    const c10::DeviceGuard current(place);
    if (!copied_) copied_.emplace(place.type());
    copied_->record(c10::impl::VirtualGuardImpl(place.type()).getStream(place));
  }
  return share;
}

}  // namespace approx
