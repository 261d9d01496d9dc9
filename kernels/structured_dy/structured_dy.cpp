#include "kernels/structured_dy/structured_dy.h"

#include "kernels/kernel.h"
#include "kernels/loop_memory.h"
#include "kernels/plan.h"
#include "kernels/select/select.h"

namespace approx {

template <typename Real>
at::Tensor Arguments<StructuredDY, Real>::run(const Work<StructuredDY, Real>& work,
                                              const StructuredDY& plan, const Operands& o) {
  LoopMemory<Real> memory(o, place_of(work, o));
  Arguments args{memory.arrays(o.x, o.w, o.dy)};
  args.choice = plan.choice;
  args.rng = plan.rng;
  complete<StructuredDY, Real>(work, args, memory.place());
  return memory.finished();
}

template struct Arguments<StructuredDY, float>;
template struct Arguments<StructuredDY, double>;
template struct Arguments<StructuredDY, BFloat16>;

PrunedGradient PlanTraits<StructuredDY>::pruned(const StructuredDY& plan, const Operands& o) {
  const int64_t channels = o.dy.size(1);
  const int64_t pixels = channels == 0 ? 0 : o.dy.numel() / channels;
  return {
      .replaces = true, .values = {}, .kept = pixels * plan.choice.kept(channels), .on_device = {}};
}

at::Tensor PlanTraits<StructuredDY>::gradient(const StructuredDY& plan, const at::Tensor& dy) {
  return nm_pruned(dy, plan.choice, plan.rng).dy;
}

namespace {

// Any product, device and precision: what stays is written out.
PreparedProduct write_out(const StructuredDY& plan, const Operands& o) {
  return [written = nm_pruned(o.dy, plan.choice, plan.rng), o] { return approx::run(written, o); };
}

at::Tensor product_of_written_out(const StructuredDY& plan, const Operands& o) {
  return write_out(plan, o)();
}

REGISTER_KERNEL(StructuredDY, "masked", product_of_written_out)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .in_two_parts(write_out)
    .rank(1);

}  // namespace
}  // namespace approx
