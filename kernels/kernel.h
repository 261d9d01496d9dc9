// Computing a plan. Each kind of plan has a folder here with its variants, which register
// themselves (kernels/variant.h): `reference` (plain loops in double precision, the definition),
// `simd`, ...
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/operands.h"
#include "kernels/plan.h"
#include "kernels/plan_traits.h"
#include "kernels/variant_counts.h"
#include "products/candidate.h"
#include "products/rules.h"

namespace approx {

// See kernels/variant.h.
using PreparedProduct = std::function<at::Tensor()>;

// The product of `operands` under `plan`, in the precision of dy (forward: of x):
//   forward [N,Co,Ho,Wo], data gradient [N,Ci,H,W], weight gradient [Co,Ci/groups,Kh,Kw].
// Undefined for a frozen Skip. `variant` forces one ("reference", "simd", "densify"); empty takes
// the one that is chosen for such a problem, never the reference. Throws Error(kInternal) for a
// plan that the product does not have, and for an unknown or unusable variant. `counts`, where it
// is not null, is told which variant computed the product. One that hands its work on to the exact
// product ("exact", "densify", "gather", "whole", "mask") is counted by its own name.
at::Tensor run(const Plan& plan, const Operands& operands, std::string_view variant = {},
               LayerVariants* counts = nullptr);

// Whether it may depend on the density of a PrunedDY plan what computes one of these gradients.
// (Rules of such variants are true from no density on to some density.)
bool density_decides(const Operands& operands);

// Whether the table of rules in use (products/rules.h) has rows of a registered variant that waits
// for a density (Variant::waits_for_density): a rule then goes by the density of the step before,
// for which the host waits. Asked in every step.
bool rules_wait_for_density();

// Every registered variant with a rule (Variant::ruled_against), once for each product that it
// computes: in the order of the kinds of Plan, then of products, then of names.
std::vector<RuledVariant> ruled_variants();

// Does what a variant of `run` does before it multiplies, which is to choose what stays of dY and
// to write or compress it, and returns what multiplies. Null where the variant does both at once.
// Throws as `run` does.
PreparedProduct prepared(const Plan& plan, const Operands& operands, std::string_view variant);

// The exact product as of a dY without zeros: what gains by zeros is held against it.
at::Tensor full_product(const Operands& operands);

// Whether the exact products of a convolution are better computed by `run` and `dense_gradients`
// than by LibTorch's convolution with its own autograd node, or must be because LibTorch's are
// wrong. Costs a few comparisons. Where dY may hold many zeros, its gradients may be better
// computed by its entries, which is found out when it is there. `type` is the precision to which
// the operands will be cast, as autocast does; without it they stay in x's.
bool dense_pays(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry,
                bool dy_may_hold_zeros = false, std::optional<at::ScalarType> type = {});

// The exact data and weight gradients in one call, which shares the work of preparing the operands.
// Either may be left out (undefined). `counts` as in `run`.
std::pair<at::Tensor, at::Tensor> dense_gradients(const Operands& operands, bool data, bool weight,
                                                  LayerVariants* counts = nullptr);

// The name under which a product counts that LibTorch's own convolution computes, or its linear
// function: that of the exact variant that calls it.
inline constexpr std::string_view kLibTorch = "libtorch";

// The variant that defines each kind of plan.
inline constexpr std::string_view kReference = "reference";

// The variants that `run` would accept for this plan and product here and now, fastest first, the
// reference last.
std::vector<std::string> variants(const Plan& plan, const Operands& operands);

// What `run` looks at when it chooses for this plan and product here and now: every variant of the
// plan's kind in the order of their ranks, the definition last. At most one is chosen; where none
// is, `run` throws.
std::vector<VariantCandidate> explain(const Plan& plan, const Operands& operands);

// "PrunedDY"
std::string_view plan_name(const Plan& plan);

// See PlanTraits. The multiply-accumulates of a PrunedDY plan are those of its nonzero entries,
// whose count is read from the device.
int64_t plan_macs(const Plan& plan, const Operands& operands);
PrunedGradient pruned_gradient(const Plan& plan, const Operands& operands);
at::Tensor used_gradient(const Plan& plan, const at::Tensor& dy);

// The channels of x that a Sampled plan over the input channels needs, or x itself: what a layer
// keeps for the weight gradient instead of x.
at::Tensor sampled_input(const at::Tensor& x, const Plan& plan, const Geometry& geometry);

}  // namespace approx
