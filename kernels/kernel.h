// Computes a plan. Each kind of plan has a folder here with its variants, which register themselves
// (kernels/variant.h): `reference` (plain loops in double precision, the definition), `simd`, ...
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

// Computes the product of `operands` under `plan`, in the precision of dy (forward: of x):
//   forward [N,Co,Ho,Wo], data gradient [N,Ci,H,W], weight gradient [Co,Ci/groups,Kh,Kw].
// Undefined for a frozen Skip. `variant` forces one ("reference", "simd", "densify"). Empty takes
// the variant that is chosen for the problem, never the reference. `counts`, unless null, records
// the variant that computed the product. A variant that delegates to the exact product ("exact",
// "densify", "gather", "whole", "mask") is counted under its own name.
// Throws Error(kInternal) for a plan that the product does not have, and for an unknown or unusable
// variant.
at::Tensor run(const Plan& plan, const Operands& operands, std::string_view variant = {},
               LayerVariants* counts = nullptr);

// Whether the density of a PrunedDY plan can change which variant computes one of these gradients.
// (Rules of such variants hold from density 0 up to some density.)
bool density_decides(const Operands& operands);

// Whether the table of rules in use (products/rules.h) has rows of a registered variant that waits
// for a density (Variant::waits_for_density). Such a rule uses the density of the previous step,
// for which the host waits. Called in every step.
bool rules_wait_for_density();

// Every registered variant with a rule (Variant::ruled_against), once for each product that it
// computes. They are ordered by kind of Plan, then product, then name.
std::vector<RuledVariant> ruled_variants();

// Does the work of a variant of `run` before its multiplication: it selects the entries of dY to
// keep, and writes or compresses them. Returns a function that multiplies. Null where the variant
// does both at once. Throws as `run` does.
PreparedProduct prepared(const Plan& plan, const Operands& operands, std::string_view variant);

// The exact product, computed as for a dY without zeros. It is the reference for variants that gain
// from zeros.
at::Tensor full_product(const Operands& operands);

// Whether `run` and `dense_gradients` should compute the exact products of a convolution, instead
// of LibTorch's convolution with its own autograd node. They should if they are faster, or if
// LibTorch's results are wrong. Costs a few comparisons. Where dY may hold many zeros, a sparse
// kernel may be better for its gradients; that is decided when dY exists. `type` is the precision
// to which the operands will be cast, as autocast does; without it they stay in x's.
bool dense_pays(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry,
                bool dy_may_hold_zeros = false, std::optional<at::ScalarType> type = {});

// The exact data and weight gradients in one call, which shares the preparation of the operands.
// Either may be left out (undefined). `counts` as in `run`.
std::pair<at::Tensor, at::Tensor> dense_gradients(const Operands& operands, bool data, bool weight,
                                                  LayerVariants* counts = nullptr);

// The name under which products of LibTorch's own convolution or linear function are counted. It is
// that of the exact variant that calls it.
inline constexpr std::string_view kLibTorch = "libtorch";

// The variant that defines each kind of plan.
inline constexpr std::string_view kReference = "reference";

// The variants that `run` accepts for this plan and product on this machine, fastest first, the
// reference last.
std::vector<std::string> variants(const Plan& plan, const Operands& operands);

// The candidates from which `run` chooses for this plan and product on this machine. They are all
// variants of the plan's kind, ordered by rank, the definition last. At most one is chosen; where
// none is, `run` throws.
std::vector<VariantCandidate> explain(const Plan& plan, const Operands& operands);

// The name of a plan's kind: "PrunedDY".
std::string_view plan_name(const Plan& plan);

// plan_macs and pruned_gradient: see PlanTraits. The multiply-accumulates of a PrunedDY plan are
// those of its nonzero entries, whose count is read from the device.
int64_t plan_macs(const Plan& plan, const Operands& operands);
PrunedGradient pruned_gradient(const Plan& plan, const Operands& operands);
at::Tensor used_gradient(const Plan& plan, const at::Tensor& dy);

// The channels of x that a Sampled plan over the input channels needs, or x itself. A layer keeps
// them for the weight gradient instead of x.
at::Tensor sampled_input(const at::Tensor& x, const Plan& plan, const Geometry& geometry);

}  // namespace approx
