#include "core/nn/layer_products.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <tuple>
#include <utility>

#include "core/nn/alive_rows.h"
#include "core/nn/layer_number.h"
#include "core/nn/phases.h"
#include "kernels/dense/forward.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

// Counts what one approximated product needs, before it is computed.
void count(const LayerSlot& slot, const Plan& plan, const Operands& operands) {
  auto* use = slot.counts.of(operands.product);
  const bool of_weights = operands.product == Product::kWeightGradient;
  auto* gradient = of_weights ? slot.counts.gradient : nullptr;
  if (use != nullptr || gradient != nullptr) {
    const auto pruned = pruned_gradient(plan, operands);
    if (use != nullptr) use->add(plan, pruned, operands);
    if (gradient != nullptr && pruned.replaces) {
      gradient->count(pruned.values.defined() ? pruned.values : used_gradient(plan, operands.dy));
      gradient->entries = operands.dy.numel();
    }
  }
  if (slot.counts.part != nullptr && of_weights) {
    slot.counts.part->note(plan, *slot.orders.of(operands.product), operands.geometry.groups);
  }
}

// Computes one approximated product by its plan.
at::Tensor computed(const LayerSlot& slot, const Plan& plan, const Operands& operands,
                    const MethodCall& call) {
  count(slot, plan, operands);
  auto* use = slot.counts.of(operands.product);
  auto result = run(plan, operands, {}, slot.counts.variants);
  // An exact result that finishing changes without dropping entries is counted with a density of 1,
  // so that it is not taken for the exact product. A second handle would keep it from being written
  // over, hence the address and the version.
  const bool exact = use != nullptr && std::holds_alternative<Dense>(plan);
  const auto* tensor = result.unsafeGetTensorImpl();
  const auto version = exact ? result._version() : 0;
  auto finished = slot.orders.of(operands.product)->finish(operands, std::move(result), call);
  if (use == nullptr) return std::move(finished.result);
  use->add_finished(finished);
  if (exact && !finished.kept.defined() &&
      (finished.result.unsafeGetTensorImpl() != tensor || finished.result._version() != version)) {
    const auto entries = static_cast<double>(finished.result.numel());
    use->entries += entries;
    use->host_kept += entries;
  }
  return std::move(finished.result);
}

// Notes on a data gradient which examples it has, for a method that drops the others.
void note_examples(const at::Tensor& dx, const Plan& plan, const Method& method) {
  const auto ratio = method.drops_examples();
  const auto* sampled = std::get_if<Sampled>(&plan);
  if (ratio && sampled != nullptr && sampled->axis == Axis::kExamples) {
    note_alive_rows(dx, {sampled->index, *ratio});
  }
}

Operands forward_operands(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry) {
  return {.x = x,
          .w = w,
          .dy = {},
          .geometry = geometry,
          .product = Product::kForward,
          .input_sizes = x.sizes().vec()};
}

MethodCall forward_call(const LayerSlot& slot, uint32_t layer) {
  return {.rng = slot.orders.draws(layer, Product::kForward),
          .norm_follows = slot.orders.norm_follows};
}

}  // namespace

ForwardProduct forward_product(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                               const Geometry& geometry, const LayerSlot& slot, uint32_t layer) {
  const at::NoGradGuard no_grad;
  const PhaseScope phase(Phase::kForward);
  const auto* method = slot.orders.of(Product::kWeightGradient);
  ForwardProduct result{.y = {}, .kept = x, .plan = {}};
  auto operands = forward_operands(x, w, geometry);
  if (auto* forward = slot.orders.of(Product::kForward)) {
    const auto call = forward_call(slot, layer);
    result.plan = forward->plan(operands, call);
    if (method == forward && method->keep() == Method::Keep::kSample) {
      result.kept = operands.x = sampled_input(operands.x, *result.plan, geometry);
    }
    result.y = computed(slot, *result.plan, operands, call);
    if (bias.defined()) result.y.add_(bias.view({1, -1, 1, 1}));
  } else {
    result.y = dense_forward(operands, bias, slot.counts.variants);
  }
  return result;
}

Plan forward_plan(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry,
                  const LayerSlot& slot, uint32_t layer) {
  const at::NoGradGuard no_grad;
  return slot.orders.of(Product::kForward)
      ->plan(forward_operands(x, w, geometry), forward_call(slot, layer));
}

bool needs_input(const LayerSlot& slot) {
  const auto* method = slot.orders.of(Product::kWeightGradient);
  return method == nullptr || method->keep() != Method::Keep::kNothing;
}

Method* sole_planner(const LayerSlot& slot, GradientsAsked asked) {
  if (asked.bias) return nullptr;
  Method* sole = nullptr;
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    if (!(product == Product::kDataGradient ? asked.data : asked.weight)) continue;
    auto* own = slot.orders.of(product);
    if (own == nullptr || (sole != nullptr && sole != own)) return nullptr;
    sole = own;
  }
  return sole;
}

MethodCall gradient_call(const LayerSlot& slot, uint32_t layer, Product product,
                         const Plan* forward) {
  return {.rng = slot.orders.draws(layer, product),
          .norm_follows = slot.orders.norm_follows,
          .forward = forward,
          .loss_scale = slot.orders.loss_scale};
}

std::array<at::Tensor, 3> gradient_products(const LayerSlot& slot, GradientCall asked) {
  std::array<at::Tensor, 3> result;
  auto& operands = asked.operands;
  const auto [data, weight, bias] = asked.asked;
  std::optional<Plan> common;  // of a method that makes one plan for both gradients
  const Method* planner = nullptr;
  const auto planned = [&] {
    auto call = gradient_call(slot, asked.layer, operands.product, asked.forward);
    call.seen = asked.seen;
    call.alive = alive_rows(operands.dy);
    call.may_overwrite = asked.may_overwrite;
    auto* method = slot.orders.of(operands.product);
    if (method == planner) return computed(slot, *common, operands, call);
    Plan plan = method->plan(operands, call);
    if (auto* kept = slot.orders.kept_before(operands.product)) kept->tell(plan, operands);
    if (method->plans_once()) {
      planner = method;
      common = plan;
    }
    auto computed_product = computed(slot, plan, operands, call);
    if (operands.product == Product::kDataGradient) {
      note_examples(computed_product, plan, *method);
    }
    return computed_product;
  };

  operands.product = Product::kDataGradient;
  const bool data_planned = slot.orders.of(Product::kDataGradient) != nullptr;
  const bool weight_planned = slot.orders.of(Product::kWeightGradient) != nullptr;
  const bool exact_data = data && !data_planned, exact_weight = weight && !weight_planned;
  {
    const ConvolutionBackwardScope both(!is_linear_number(asked.layer));
    if (exact_data && exact_weight && !PhaseClock::takes_gradients_apart()) {
      std::tie(result[0], result[1]) = dense_gradients(operands, true, true, slot.counts.variants);
    } else {
      const auto exact = [&](bool of_data) {
        return dense_gradients(operands, of_data, !of_data, slot.counts.variants);
      };
      if (data) {
        const PhaseScope phase(Phase::kDataGradient);
        result[0] = data_planned ? planned() : exact(/*of_data=*/true).first;
      }
      if (weight) {
        const PhaseScope phase(Phase::kWeightGradient);
        operands.product = Product::kWeightGradient;
        result[1] = weight_planned ? planned() : exact(/*of_data=*/false).second;
      }
    }
  }
  if (bias) result[2] = operands.dy.sum({0, 2, 3});
  return result;
}

}  // namespace approx
