#include "kernels/kernel.h"

#include <ATen/ops/zeros_like.h>

#include <algorithm>

#include "base/error.h"
#include "kernels/dense/dense.h"
#include "kernels/dense/matrix.h"
#include "kernels/dense/taps.h"
#include "kernels/gaussian/gaussian_product.h"
#include "kernels/sampled/sampled_product.h"
#include "kernels/sparse_dy/sparse_dy_product.h"

namespace approx {
namespace {

bool always(const Operands&) { return true; }

using Run = at::Tensor (*)(const Plan&, const Operands&);

// One way of computing a kind of plan, whether it can do these operands on this machine, and
// whether it should be the one that does.
struct Variant {
  std::string_view name;
  bool (*usable)(const Operands&);
  Run run;
  bool (*pays)(const Operands&) = always;
};

bool is_weight_gradient(const Operands& o) { return o.product == Product::kWeightGradient; }

bool sparse_dy_on_cpu(const Operands& o) {
  return is_weight_gradient(o) && o.geometry.groups == 1 && o.dy.is_cpu() && o.dy.numel() > 0;
}

template <bool kSimd>
at::Tensor gaussian(const Plan& plan, const Operands& o) {
  return gaussian_product(std::get<Gaussian>(plan), o, kSimd);
}

template <bool kSimd>
at::Tensor sparse_weight_gradient(const Plan& plan, const Operands& o) {
  return sparse_dy_weight_gradient(std::get<SparseDY>(plan), o, kSimd);
}

// Any product, device and precision: the exact product of the sparse dY written out.
at::Tensor densified(const Plan& plan, const Operands& o) {
  Operands sparse = o;
  sparse.dy = densify(std::get<SparseDY>(plan), o);
  return dense_product(sparse);
}

at::Tensor pruned(const Plan& plan, const Operands& o) {
  Operands replaced = o;
  replaced.dy = std::get<PrunedDY>(plan).dy;
  return dense_product(replaced);
}

bool has_dy(const Operands& o) { return o.product != Product::kForward; }

bool one_group(const Operands& o) { return o.geometry.groups == 1; }

at::Tensor gathered(const Plan& plan, const Operands& o) {
  return sampled_product(std::get<Sampled>(plan), o);
}

at::Tensor masked(const Plan& plan, const Operands& o) {
  return masked_product(std::get<Sampled>(plan), o);
}

at::Tensor libtorch(const Plan&, const Operands& o) { return libtorch_product(o); }

at::Tensor matrix(const Plan&, const Operands& o) { return matrix_product(o); }

at::Tensor taps(const Plan&, const Operands& o) { return taps_product(o); }

bool pays_by_taps(const Operands& o) { return taps_pay(o, o.product); }

at::Tensor skip(const Plan& plan, const Operands& o) {
  return std::get<Skip>(plan).freeze ? at::Tensor() : at::zeros_like(o.w);
}

// Fastest first. Indexed like std::variant Plan.
const std::vector<Variant>& variants_of(const Plan& plan) {
  static const std::vector<Variant> table[] = {
      {{"matrix", matrix_fits, matrix, matrix_pays},
       {"taps", taps_fit, taps, pays_by_taps},
       {"libtorch", always, libtorch}},
      {{"skip", is_weight_gradient, skip}},
      {{"simd", is_weight_gradient, gaussian<true>},
       {"reference", is_weight_gradient, gaussian<false>}},
      {{"simd", sparse_dy_on_cpu, sparse_weight_gradient<true>},
       {"densify", has_dy, densified},
       {"reference", sparse_dy_on_cpu, sparse_weight_gradient<false>}},
      {{"libtorch", has_dy, pruned}},
      {{"gather", one_group, gathered}, {"mask", always, masked}}};
  return table[plan.index()];
}

constexpr const char* kPlanNames[] = {"Dense",    "Skip",     "Gaussian",
                                      "SparseDY", "PrunedDY", "Sampled"};
static_assert(std::size(kPlanNames) == std::variant_size_v<Plan>);

}  // namespace

at::Tensor run(const Plan& plan, const Operands& operands, std::string_view variant) {
  for (const auto& candidate : variants_of(plan)) {
    if (variant.empty() ? !candidate.pays(operands) : variant != candidate.name) continue;
    if (candidate.usable(operands)) return candidate.run(plan, operands);
  }
  throw Error(ErrorKind::kInternal,
              fmt::format("no {}kernel computes a {} plan for the product {}",
                          variant.empty() ? "" : fmt::format("\"{}\" ", variant),
                          kPlanNames[plan.index()], name(operands.product)));
}

bool dense_pays(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry) {
  return x.is_cpu() && x.scalar_type() == at::kFloat && x.dim() == 4 &&
         (matrix_pays(x.sizes(), w.sizes(), geometry) ||
          std::any_of(std::begin(kAllProducts), std::end(kAllProducts), [&](Product product) {
            return taps_pay(x.sizes(), w.sizes(), geometry, product);
          }));
}

std::vector<std::string> variants(const Plan& plan, const Operands& operands) {
  std::vector<std::string> names;
  for (const auto& candidate : variants_of(plan)) {
    if (candidate.usable(operands)) names.emplace_back(candidate.name);
  }
  return names;
}

int64_t dense_macs(const Operands& o) {
  // Each output needs (Ci/groups) * Kh * Kw multiplications; dy has the output's shape, and the
  // three products have the same count.
  const int64_t per_output = o.w.size(1) * o.w.size(2) * o.w.size(3);
  if (o.dy.defined()) return o.dy.numel() * per_output;
  const auto& g = o.geometry;
  int64_t outputs = o.input_sizes[0] * o.w.size(0);
  for (int64_t d = 2; d < 4; ++d) {
    outputs *= (o.input_sizes[static_cast<size_t>(d)] + 2 * g.padding -
                g.dilation * (o.w.size(d) - 1) - 1) /
                   g.stride +
               1;
  }
  return outputs * per_output;
}

int64_t plan_macs(const Plan& plan, const Operands& o) {
  const int64_t per_output = o.w.size(1) * o.w.size(2) * o.w.size(3);
  if (std::holds_alternative<Dense>(plan)) return dense_macs(o);
  if (const auto* sparse = std::get_if<SparseDY>(&plan)) return sparse->value.numel() * per_output;
  if (const auto* pruned = std::get_if<PrunedDY>(&plan)) {
    return pruned->kept.item<int64_t>() * per_output;
  }
  if (const auto* sampled = std::get_if<Sampled>(&plan)) {
    const int64_t whole = axis_size(sampled->axis, o);
    return whole == 0 ? 0 : dense_macs(o) / whole * sampled->index.numel();
  }
  return 0;
}

at::Tensor sampled_input(const at::Tensor& x, const Plan& plan, const Geometry& geometry) {
  const auto* sampled = std::get_if<Sampled>(&plan);
  const bool can = sampled != nullptr && sampled->axis == Axis::kInputChannels &&
                   geometry.groups == 1 && sampled->index.numel() > 0;
  return can ? take_channels(x, sampled->index) : x;
}

}  // namespace approx
