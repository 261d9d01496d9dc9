#include "kernels/skip/skip.h"

#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include "kernels/loop_memory.h"
#include "kernels/plan.h"

namespace approx {

template <typename Real>
at::Tensor Arguments<Skip, Real>::run(const Work<Skip, Real>& work, const Skip& plan,
                                      const Operands& o) {
  if (plan.freeze) return {};
  LoopMemory<Real> memory(o, place_of(work, o));
  complete<Skip, Real>(work, {memory.arrays({}, {}, {})}, memory.place());
  return memory.finished();
}

template struct Arguments<Skip, float>;
template struct Arguments<Skip, double>;

namespace {

at::Tensor nothing(const Skip& plan, const Operands& o) {
  if (plan.freeze) return {};
  if (o.product == Product::kWeightGradient) return at::zeros_like(o.w);
  return at::zeros(o.input_sizes, o.w.options()).contiguous(at::MemoryFormat::ChannelsLast);
}

REGISTER_KERNEL(Skip, "skip", nothing).computes({Product::kDataGradient, Product::kWeightGradient});

}  // namespace
}  // namespace approx
