#include "core/nn/counts.h"

#include "kernels/kernel.h"

namespace approx {
namespace {

// Adds, on the device, how many entries of a gradient were kept.
void add_kept(UseCount& count, const at::Tensor& kept) {
  count.device_kept =
      count.device_kept.defined() ? count.device_kept.add_(kept) : kept.to(at::kDouble);
}

}  // namespace

void GradientCount::count(const at::Tensor& gradient) {
  nonzero = gradient.count_nonzero();
  entries = gradient.numel();
}

void UseCount::add(const Plan& plan, const PrunedGradient& pruned, const Operands& operands) {
  ++calls;
  if (pruned.replaces) entries += static_cast<double>(operands.dy.numel());
  if (pruned.on_device.defined()) {
    macs_per_kept = static_cast<double>(macs_per_output(operands));
    add_kept(*this, pruned.on_device);
    return;
  }
  host_kept += static_cast<double>(pruned.kept);
  host_macs += static_cast<double>(plan_macs(plan, operands));
}

void UseCount::add_finished(const Finished& finished) {
  if (!finished.kept.defined()) return;
  entries += static_cast<double>(finished.result.numel());
  add_kept(*this, finished.kept);
}

double UseCount::kept() const {
  return host_kept + (device_kept.defined() ? device_kept.item<double>() : 0);
}

double UseCount::macs() const {
  return host_macs + (device_kept.defined() ? macs_per_kept * device_kept.item<double>() : 0);
}

double UseCount::density() const { return kept() / entries; }

}  // namespace approx
