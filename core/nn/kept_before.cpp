#include "core/nn/kept_before.h"

#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>

#include "kernels/kernel.h"
#include "products/rules.h"

namespace approx {

void KeptBefore::tell(Plan& plan, const Operands& operands) {
  auto* pruned = std::get_if<PrunedDY>(&plan);
  if (pruned == nullptr || pruned->kept.is_cpu()) return;
  if (rules_wait_for_density() && density_decides(operands)) {
    pruned->expected_density = exchange(*pruned);
  }
}

double KeptBefore::exchange(const PrunedDY& plan) {
  if (copied_) copied_->synchronize();
  double share = 1;
  if (kept_.defined() && entries_ > 0) {
    share = static_cast<double>(*kept_.const_data_ptr<int64_t>()) / static_cast<double>(entries_);
  }
  entries_ = plan.dy.numel();
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

std::string_view waits_for(const Method& method) {
  if (const auto own = method.waits_for(); !own.empty()) return own;
  return method.plans_once() && rules_wait_for_density()
             ? "what it kept the step before, by which a kernel is chosen"
             : "";
}

}  // namespace approx
