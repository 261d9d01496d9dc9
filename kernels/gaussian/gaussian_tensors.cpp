// The same numbers as the reference by operations on tensors, on the device where they are wanted:
// nothing is copied there and nothing waits.
#include <ATen/TensorOperators.h>
#include <ATen/ops/cos.h>
#include <ATen/ops/log.h>
#include <ATen/ops/sin.h>
#include <ATen/ops/sqrt.h>
#include <ATen/ops/stack.h>

#include <numbers>

#include "kernels/draws.h"
#include "kernels/gaussian/gaussian.h"
#include "kernels/operands.h"
#include "kernels/plan.h"

namespace approx {
namespace {

at::Tensor drawn_by_tensors(const Gaussian& plan, const Operands& o) {
  const int64_t count = o.w.numel();
  const auto u = as_uniform(random_words(plan.rng, (count + 3) / 4, o.w.device()));  // [blocks,4]
  // (Box & Muller 1958) radii from words 0 and 2, angles from words 1 and 3.
  const auto radius = (u.slice(1, 0, 4, 2).log() * -2).sqrt();      // [blocks,2]
  const auto angle = u.slice(1, 1, 4, 2) * (2 * std::numbers::pi);  // [blocks,2]
  const auto normal = at::stack({radius * angle.cos(), radius * angle.sin()}, 2);
  auto draws = normal.flatten().narrow(0, 0, count) * plan.stddev + plan.mean;
  if (plan.factor.defined()) draws = draws * plan.factor;
  return draws.view(o.w.sizes()).to(o.w.scalar_type());
}

REGISTER_KERNEL(Gaussian, "tensors", drawn_by_tensors).computes({Product::kWeightGradient}).rank(2);

}  // namespace
}  // namespace approx
