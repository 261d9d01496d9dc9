#include "kernels/kernel.h"

#include <ATen/ops/zeros_like.h>

#include <limits>

#include "core/spec/error.h"
#include "kernels/dense/dense.h"
#include "kernels/gaussian/gaussian_product.h"
#include "kernels/sparse_dy/sparse_dy_product.h"

namespace approx {
namespace {

using Run = at::Tensor (*)(const Plan&, const Operands&);

// One way of computing a kind of plan, and whether it can do these operands on this machine.
struct Variant {
  std::string_view name;
  bool (*usable)(const Operands&);
  Run run;
};

bool always(const Operands&) { return true; }

bool weight_gradient(const Operands& o) { return o.product == Product::kWeightGradient; }

bool sparse_dy_on_cpu(const Operands& o) {
  return weight_gradient(o) && o.geometry.groups == 1 && o.dy.is_cpu() && o.dy.numel() > 0;
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

at::Tensor dense(const Plan&, const Operands& o) { return dense_product(o); }

at::Tensor skip(const Plan& plan, const Operands& o) {
  return std::get<Skip>(plan).freeze ? at::Tensor() : at::zeros_like(o.w);
}

// Fastest first. Indexed like std::variant Plan.
const std::vector<Variant>& variants_of(const Plan& plan) {
  static const std::vector<Variant> table[] = {
      {{"libtorch", always, dense}},
      {{"skip", weight_gradient, skip}},
      {{"simd", weight_gradient, gaussian<true>}, {"reference", weight_gradient, gaussian<false>}},
      {{"simd", sparse_dy_on_cpu, sparse_weight_gradient<true>},
       {"densify", [](const Operands& o) { return o.product != Product::kForward; }, densified},
       {"reference", sparse_dy_on_cpu, sparse_weight_gradient<false>}}};
  return table[plan.index()];
}

constexpr const char* kPlanNames[] = {"Dense", "Skip", "Gaussian", "SparseDY"};

}  // namespace

at::Tensor run(const Plan& plan, const Operands& operands, std::string_view variant) {
  for (const auto& candidate : variants_of(plan)) {
    if (!variant.empty() && variant != candidate.name) continue;
    if (candidate.usable(operands)) return candidate.run(plan, operands);
  }
  throw Error(ErrorKind::kInternal,
              fmt::format("no {}kernel computes a {} plan for the product {}",
                          variant.empty() ? "" : fmt::format("\"{}\" ", variant),
                          kPlanNames[plan.index()], name(operands.product)));
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
  if (std::holds_alternative<Dense>(plan)) return dense_macs(o);
  if (const auto* sparse = std::get_if<SparseDY>(&plan)) {
    return sparse->value.numel() * o.w.size(1) * o.w.size(2) * o.w.size(3);
  }
  return 0;
}

double plan_density(const Plan& plan, const Operands& o) {
  const auto* sparse = std::get_if<SparseDY>(&plan);
  if (sparse == nullptr || o.dy.numel() == 0) return std::numeric_limits<double>::quiet_NaN();
  return static_cast<double>(sparse->value.numel()) / static_cast<double>(o.dy.numel());
}

}  // namespace approx
