#include "kernels/pruned_dy/pruned_dy.h"

#include "kernels/kernel.h"
#include "kernels/loop_memory.h"
#include "kernels/plan.h"
#include "kernels/plan_traits.h"

namespace approx {

template <typename Real>
at::Tensor Arguments<PrunedDY, Real>::run(const Work<PrunedDY, Real>& work, const PrunedDY& plan,
                                          const Operands& o) {
  LoopMemory<Real> memory(o, place_of(work, o));
  TensorScratch scratch(memory.place());
  auto arrays = memory.arrays(o.x, o.w, plan.dy);
  // Few entries are listed otherwise.
  arrays.problem.density = PlanTraits<PrunedDY>::density(plan, arrays.problem);
  complete<PrunedDY, Real>(work, {arrays, &scratch}, memory.place());
  return memory.finished();
}

template struct Arguments<PrunedDY, float>;
template struct Arguments<PrunedDY, double>;
template struct Arguments<PrunedDY, BFloat16>;
template struct Arguments<PrunedDY, Float16>;

namespace {

at::Tensor exact_product_of_pruned(const PrunedDY& plan, const Operands& o) {
  Operands replaced = o;
  replaced.dy = plan.dy.to(o.dy.scalar_type());  // its own, but where the definition is asked for
  return full_product(replaced);
}

REGISTER_KERNEL(PrunedDY, "exact", exact_product_of_pruned)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .rank(1);

}  // namespace
}  // namespace approx
