#include "kernels/kernel.h"

#include <algorithm>

#include "base/error.h"
#include "kernels/variant.h"

namespace approx {
namespace {

template <typename Kind>
at::Tensor compute(const Variant<Kind>& variant, const Kind& plan, const Operands& operands) {
  if (variant.tensors != nullptr) return variant.tensors(plan, operands);
  if (variant.floats.work) return variant.floats.run(variant.floats.work, plan, operands);
  if (variant.bfloats.work) return variant.bfloats.run(variant.bfloats.work, plan, operands);
  if (variant.halves.work) return variant.halves.run(variant.halves.work, plan, operands);
  return variant.doubles.run(variant.doubles.work, plan, operands);
}

// The problem with what the plan knows of it.
template <typename Kind>
Problem problem_under(const Kind& plan, const Operands& operands) {
  Problem problem = problem_of(operands);
  if constexpr (requires { PlanTraits<Kind>::density(plan, problem); }) {
    problem.density = PlanTraits<Kind>::density(plan, problem);
  } else if constexpr (requires { PlanTraits<Kind>::density(plan, operands); }) {
    problem.density = PlanTraits<Kind>::density(plan, operands);
  }
  if constexpr (requires { PlanTraits<Kind>::group(plan); }) {
    problem.group = PlanTraits<Kind>::group(plan);
  }
  return problem;
}

template <typename Kind>
const Variant<Kind>* named(std::string_view name, const Problem& problem) {
  for (const auto& variant : Registry<Variant<Kind>>::instance().entries()) {
    if (variant.name == name && variant.fits(problem)) return &variant;
  }
  return nullptr;
}

// The one of that name, or the one that is chosen.
template <typename Kind>
const Variant<Kind>& found_variant(const Kind& plan, const Operands& operands,
                                   std::string_view variant) {
  const Problem problem = problem_under(plan, operands);
  const auto* found = variant.empty() ? choose<Kind>(problem) : named<Kind>(variant, problem);
  if (found != nullptr) return *found;
  throw Error(ErrorKind::kInternal,
              fmt::format("no {}kernel computes a {} plan for the product {}",
                          variant.empty() ? "" : fmt::format("\"{}\" ", variant),
                          PlanTraits<Kind>::kName, name(operands.product)));
}

template <typename PlanVariant>
struct Kinds;
template <typename... Kind>
struct Kinds<std::variant<Kind...>> {
  // Calls `use` with the registry of each kind's variants.
  template <typename Use>
  static void for_each_registry(const Use& use) {
    (use.template operator()<Kind>(Registry<Variant<Kind>>::instance()), ...);
  }
};

}  // namespace

at::Tensor run(const Plan& plan, const Operands& operands, std::string_view variant,
               LayerVariants* counts) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) {
        const Variant<Kind>& found = found_variant(kind, operands, variant);
        if (counts != nullptr) {
          counts->of(operands.product).add(PlanTraits<Kind>::kName, found.name);
        }
        return compute(found, kind, operands);
      },
      plan);
}

PreparedProduct prepared(const Plan& plan, const Operands& operands, std::string_view variant) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) {
        const Variant<Kind>& found = found_variant(kind, operands, variant);
        return found.preparation == nullptr ? PreparedProduct() : found.preparation(kind, operands);
      },
      plan);
}

bool density_decides(const Operands& operands) {
  Problem problem = problem_of(operands);
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    problem.product = product;
    problem.density = 0;
    const auto* of_little = choose<PrunedDY>(problem);
    problem.density = 1;
    if (choose<PrunedDY>(problem) != of_little) return true;
  }
  return false;
}

bool rules_wait_for_density() {
  bool waits = false;
  Kinds<Plan>::for_each_registry([&]<typename Kind>(const Registry<Variant<Kind>>& registry) {
    for (const auto& variant : registry.entries()) {
      waits = waits || (variant.does_wait_for_density() && has_rule_rows(variant.name));
    }
  });
  return waits;
}

std::vector<RuledVariant> ruled_variants() {
  std::vector<RuledVariant> ruled;
  Kinds<Plan>::for_each_registry([&]<typename Kind>(const Registry<Variant<Kind>>& registry) {
    const auto all = registry.all();
    for (const auto product : kAllProducts) {
      for (const auto* variant : all) {
        if (!variant->is_ruled() || !variant->does_compute(product)) continue;
        ruled.push_back(variant->ruled(PlanTraits<Kind>::kName, product));
      }
    }
  });
  return ruled;
}

at::Tensor full_product(const Operands& operands) {
  return compute(*choose<Dense>(problem_of(operands)), Dense{}, operands);
}

std::vector<std::string> variants(const Plan& plan, const Operands& operands) {
  std::vector<std::string> names;
  for (const auto& candidate : explain(plan, operands)) {
    if (candidate.fits()) names.push_back(candidate.name);
  }
  return names;
}

std::vector<VariantCandidate> explain(const Plan& plan, const Operands& operands) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) {
        const Problem problem = problem_under(kind, operands);
        std::vector<const Variant<Kind>*> ranked;
        for (const auto& variant : Registry<Variant<Kind>>::instance().entries()) {
          ranked.push_back(&variant);
        }
        std::sort(ranked.begin(), ranked.end(),
                  [](const auto* a, const auto* b) { return a->before(*b); });
        const auto* chosen = choose<Kind>(problem);
        std::vector<VariantCandidate> candidates;
        for (const auto* variant : ranked) {
          candidates.push_back(variant->candidate(problem));
          candidates.back().chosen = variant == chosen;
        }
        return candidates;
      },
      plan);
}

std::string_view plan_name(const Plan& plan) {
  return std::visit([]<typename Kind>(const Kind& /*plan*/) { return PlanTraits<Kind>::kName; },
                    plan);
}

int64_t dense_macs(const Operands& o) {
  // dy has the shape of the output.
  if (o.dy.defined()) return o.dy.numel() * macs_per_output(o);
  const Problem p = problem_of(o);
  return p.n * p.co * p.ho * p.wo * macs_per_output(o);
}

int64_t plan_macs(const Plan& plan, const Operands& operands) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) { return PlanTraits<Kind>::macs(kind, operands); },
      plan);
}

PrunedGradient pruned_gradient(const Plan& plan, const Operands& operands) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) { return PlanTraits<Kind>::pruned(kind, operands); },
      plan);
}

at::Tensor used_gradient(const Plan& plan, const at::Tensor& dy) {
  return std::visit(
      [&]<typename Kind>(const Kind& kind) { return PlanTraits<Kind>::gradient(kind, dy); }, plan);
}

}  // namespace approx
