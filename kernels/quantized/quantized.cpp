#include "kernels/quantized/quantized.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros_like.h>

#include <limits>

#include "kernels/draws.h"
#include "kernels/kernel.h"
#include "kernels/loop_memory.h"
#include "kernels/plan.h"

namespace approx {

template <typename Real>
at::Tensor Arguments<Quantized, Real>::run(const Work<Quantized, Real>& work, const Quantized& plan,
                                           const Operands& o) {
  LoopMemory<Real> memory(o, place_of(work, o));
  Arguments args{memory.arrays(o.x, o.w, o.dy)};
  args.scales = plan.scales;
  args.by_chance = plan.by_chance;
  args.rng = plan.rng;
  complete<Quantized, Real>(work, args, memory.place());
  return memory.finished();
}

template struct Arguments<Quantized, float>;
template struct Arguments<Quantized, double>;
template struct Arguments<Quantized, BFloat16>;

namespace {

// What is divided into slices that share a scale: each index of the dimension `kept`, or nothing.
struct Slicing {
  bool is_divided;
  int64_t kept;
};

// Scale::of for every slice, as tensors of float.
struct ScaleTensors {
  explicit ScaleTensors(const at::Tensor& largest) {
    const auto finite = largest.isfinite();
    const auto times = at::full_like(largest, static_cast<double>(kLargestInteger)) / largest;
    const auto usable = finite.logical_and(times.isfinite());
    const auto none = at::zeros_like(largest);
    inverse = at::where(usable, times, none);
    value = at::where(usable, largest / static_cast<double>(kLargestInteger), none)
                .masked_fill(finite.logical_not(), std::numeric_limits<double>::quiet_NaN());
  }

  at::Tensor value, inverse;
};

// The numbers of an operand of four dimensions in multiples of its scales, in float. `draws`:
// undefined for rounding to nearest.
at::Tensor rounded(const at::Tensor& operand, Slicing slicing, const at::Tensor& draws) {
  const auto numbers = operand.to(at::kFloat);
  if (numbers.numel() == 0) return numbers;
  std::vector<int64_t> over;
  for (int64_t dim = 0; dim < numbers.dim(); ++dim) {
    if (!slicing.is_divided || dim != slicing.kept) over.push_back(dim);
  }
  const ScaleTensors scale(numbers.abs().amax(over, /*keepdim=*/true));
  auto whole = numbers * scale.inverse;
  whole = draws.defined() ? (whole + draws).floor() : whole.round();
  return whole.clamp(-kLargestInteger, kLargestInteger) * scale.value;
}

at::Tensor draws_of(const Quantized& plan, const at::Tensor& dy) {
  if (!plan.by_chance) return {};
  const auto sizes = dy.sizes();
  return uniform_draws(plan.rng, {sizes[0], sizes[2], sizes[3], sizes[1]}, dy.device())
      .permute({0, 3, 1, 2});
}

at::Tensor rounded_dy(const Quantized& plan, const at::Tensor& dy, Product product) {
  const bool divided = plan.scales == Scales::kSlices;
  return rounded(dy, {divided, product == Product::kWeightGradient ? 1 : 0}, draws_of(plan, dy));
}

// With groups, the input channels of w are those of its output channels' group.
at::Tensor rounded_w(const at::Tensor& w, const Geometry& g, bool divided, Product product) {
  if (product == Product::kForward) return rounded(w, {divided, 0}, {});
  const auto sizes = w.sizes();
  const auto by_input = w.view({g.groups, sizes[0] / g.groups, sizes[1], sizes[2] * sizes[3]})
                            .permute({1, 3, 0, 2})
                            .reshape({sizes[0] / g.groups, sizes[2] * sizes[3], 1, -1});
  return rounded(by_input, {divided, 3}, {})
      .view({sizes[0] / g.groups, sizes[2] * sizes[3], g.groups, sizes[1]})
      .permute({2, 0, 3, 1})
      .reshape(sizes);
}

// Any product, device and precision: the exact product of the rounded operands, written out.
at::Tensor product_of_rounded(const Quantized& plan, const Operands& o) {
  const bool divided = plan.scales == Scales::kSlices;
  Operands replaced = o;
  const auto type = o.w.scalar_type();
  if (o.product != Product::kDataGradient) {
    const int64_t kept = o.product == Product::kWeightGradient ? 1 : 0;
    replaced.x = rounded(o.x, {divided, kept}, {}).to(type);
  }
  if (o.product != Product::kWeightGradient) {
    replaced.w = rounded_w(o.w.contiguous(), o.geometry, divided, o.product).to(type);
  }
  if (o.product != Product::kForward) {
    replaced.dy = rounded_dy(plan, o.dy, o.product).to(type);
  }
  return full_product(replaced);
}

REGISTER_KERNEL(Quantized, "rounded", product_of_rounded).rank(2);

}  // namespace

at::Tensor PlanTraits<Quantized>::gradient(const Quantized& plan, const at::Tensor& dy) {
  return rounded_dy(plan, dy, plan.rng.product).to(dy.scalar_type());
}

}  // namespace approx
