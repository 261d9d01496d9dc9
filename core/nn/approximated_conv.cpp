#include "core/nn/approximated_conv.h"

#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/graph_task.h>

#include <algorithm>
#include <optional>

#include "base/error.h"
#include "core/nn/gradient_reader.h"
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

// Does what a method asks to be done to its gradient, and knows which one that was.
class ShownGradient final : public GradientVisitor {
 public:
  explicit ShownGradient(const GradientRequest& request) : to_(request) {}

  void begin(const at::Tensor& gradient, int64_t blocks) override {
    note(gradient);
    to_.begin(gradient, blocks);
  }
  void visit(int64_t block, int64_t first, int64_t last) override { to_.visit(block, first, last); }
  GradientLook look(const at::Tensor& gradient) override {
    note(gradient);
    return to_.look(gradient);
  }

  // What was seen, if it is of this gradient as it is.
  std::optional<SeenGradient> of(const at::Tensor& dy) const {
    if (gradient_.lock() != dy.getIntrusivePtr() || dy._version() != version_) return std::nullopt;
    return to_.seen();
  }

 private:
  void note(const at::Tensor& gradient) {
    gradient_ = gradient.getIntrusivePtr();
    version_ = gradient._version();
  }

  MagnitudeVisitor to_;
  c10::weak_intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl> gradient_{
      c10::intrusive_ptr<c10::TensorImpl, c10::UndefinedTensorImpl>()};
  uint32_t version_ = 0;
};

// Whether all that `reader` gets in the backward pass that runs is one gradient of `writer`. Of
// several, autograd makes a sum.
bool is_sole_sender(const torch::autograd::Node& writer, const torch::autograd::Node& reader) {
  const auto sent = [&reader](const torch::autograd::Node& node) {
    return std::ranges::count_if(node.next_edges(), [&reader](const torch::autograd::Edge& edge) {
      return edge.function.get() == &reader;
    });
  };
  // All but the one that the pass begins with: a loss, which reads no layer beside a norm.
  const auto* nodes = torch::autograd::get_current_graph_task_nodes_in_graph();
  return nodes != nullptr && sent(writer) == 1 &&
         std::ranges::none_of(*nodes, [&](const torch::autograd::Node* node) {
           return node != &writer && sent(*node) > 0;
         });
}

// The backward of an approximated layer. A node of the autograd graph of our own rather than a
// torch::autograd::Function, whose boxed arguments cost more than a small layer's dispatch.
class ApproximatedConvBackward final : public torch::autograd::Node, public GradientReader {
 public:
  std::string name() const override { return "ApproximatedConvBackward"; }

  GradientVisitor* visitor(const torch::autograd::Node& writer) override {
    shown_.reset();
    // What a method does for a layer is timed as the layer's.
    if (PhaseClock::runs()) return nullptr;
    if (auto* method = sole_reader()) {
      const auto request = method->look(call_of(Product::kDataGradient));
      // A part of dY that is pruned would be pruned once more in the sum.
      if (request && is_sole_sender(writer, *this)) {
        shown_ = std::make_unique<ShownGradient>(*request);
      }
    }
    return shown_.get();
  }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    torch::autograd::variable_list result(3);
    const auto& dy = gradients[0];
    if (!dy.defined()) return result;
    if (at::GradMode::is_enabled()) {
      throw Error(ErrorKind::kUsage,
                  "an approximated gradient has no gradient of its own: call backward without "
                  "create_graph");
    }
    if (at::isTensorSubclassLike(dy)) {
      throw Error(ErrorKind::kUsage,
                  "an approximated gradient is of one upstream gradient at a time: call backward "
                  "without is_grads_batched or vectorize");
    }
    const auto* sole = sole_reader();
    const bool ours = dy.use_count() == 1 && dy.storage().use_count() == 1;
    const bool may_overwrite = ours && sole != nullptr && sole->looks_at_dy_alone();
    Operands operands{.x = x.unpack(),
                      .w = w.unpack(),
                      .dy = dy,
                      .geometry = geometry,
                      .product = Product::kDataGradient,
                      .input_sizes = input_sizes};
    const auto seen = shown_ == nullptr ? std::nullopt : shown_->of(dy);
    std::optional<Plan> common;  // of a method that makes one plan for both gradients
    const Method* planner = nullptr;
    const auto planned = [&] {
      auto call = call_of(operands.product);
      call.seen = seen ? &*seen : nullptr;
      call.may_overwrite = may_overwrite;
      auto* method = slot.orders.of(operands.product);
      if (method == planner) return computed(slot, *common, operands, call);
      Plan plan = method->plan(operands, call);
      if (auto* kept = slot.orders.kept_before(operands.product)) kept->tell(plan, operands);
      if (method->plans_once()) {
        planner = method;
        common = plan;
      }
      return computed(slot, plan, operands, call);
    };

    const bool data = task_should_compute_output(0), weight = task_should_compute_output(1);
    const bool data_planned = slot.orders.of(Product::kDataGradient) != nullptr;
    const bool weight_planned = slot.orders.of(Product::kWeightGradient) != nullptr;
    const bool exact_data = data && !data_planned, exact_weight = weight && !weight_planned;
    {
      const ConvolutionBackwardScope both(!is_linear_number(layer));
      if (exact_data && exact_weight && !PhaseClock::takes_gradients_apart()) {
        std::tie(result[0], result[1]) =
            dense_gradients(operands, true, true, slot.counts.variants);
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
    if (task_should_compute_output(2)) result[2] = dy.sum({0, 2, 3});
    shown_.reset();
    return result;
  }

  void release_variables() override {
    x.reset_data();
    w.reset_data();
  }

  torch::autograd::SavedVariable x, w;
  Geometry geometry;
  std::optional<Plan> forward;  // of the forward product, where that was not exact
  LayerSlot slot;               // a copy: the layer's own belongs to its next step
  uint32_t layer = 0;
  std::vector<int64_t> input_sizes;

 private:
  MethodCall call_of(Product product) const {
    return {.rng = slot.orders.draws(layer, product),
            .norm_follows = slot.orders.norm_follows,
            .forward = forward ? &*forward : nullptr,
            .loss_scale = slot.orders.loss_scale};
  }

  // The method that plans all that is to be made of dY; null where that is not one.
  Method* sole_reader() const {
    if (task_should_compute_output(2)) return nullptr;
    Method* sole = nullptr;
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      if (!task_should_compute_output(product == Product::kDataGradient ? 0 : 1)) continue;
      auto* own = slot.orders.of(product);
      if (own == nullptr || (sole != nullptr && sole != own)) return nullptr;
      sole = own;
    }
    return sole;
  }

  std::unique_ptr<ShownGradient> shown_;
};

// Under autocast LibTorch casts the operands of its own convolutions; ours must be cast likewise.
at::Tensor autocast(const at::Tensor& tensor) {
  if (!tensor.defined() || !at::autocast::is_autocast_enabled(tensor.device().type()))
    return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(tensor.device().type()), tensor,
                                   tensor.device().type());
}

}  // namespace

at::Tensor approximated_conv(const at::Tensor& input, const at::Tensor& weight,
                             const at::Tensor& input_bias, const Geometry& geometry,
                             const LayerSlot& slot, uint32_t layer) {
  const auto x = autocast(input), w = autocast(weight), bias = autocast(input_bias);
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  const auto* method = slot.orders.of(Product::kWeightGradient);
  at::Tensor y, kept = x;  // kept: what the weight gradient needs of x
  std::optional<Plan> plan;
  {
    const at::NoGradGuard no_grad;
    const PhaseScope phase(Phase::kForward);
    Operands operands{.x = x,
                      .w = w,
                      .dy = {},
                      .geometry = geometry,
                      .product = Product::kForward,
                      .input_sizes = x.sizes().vec()};
    if (auto* forward = slot.orders.of(Product::kForward)) {
      const MethodCall call{.rng = slot.orders.draws(layer, Product::kForward),
                            .norm_follows = slot.orders.norm_follows};
      plan = forward->plan(operands, call);
      if (method == forward && method->keep() == Method::Keep::kSample) {
        kept = operands.x = sampled_input(operands.x, *plan, geometry);
      }
      y = computed(slot, *plan, operands, call);
      if (bias.defined()) y.add_(bias.view({1, -1, 1, 1}));
    } else {
      y = dense_forward(operands, bias, slot.counts.variants);
    }
  }
  if (!at::GradMode::is_enabled() || !torch::autograd::any_variable_requires_grad({x, w, bias})) {
    return y;
  }
  const auto node = std::shared_ptr<ApproximatedConvBackward>(new ApproximatedConvBackward(),
                                                              torch::autograd::deleteNode);
  node->set_next_edges(torch::autograd::collect_next_edges(x, w, bias));
  const bool needed = method == nullptr || method->keep() != Method::Keep::kNothing;
  if (w.requires_grad() && needed) {
    node->x = torch::autograd::SavedVariable(kept, /*is_output=*/false);
  }
  node->forward = std::move(plan);
  node->w = torch::autograd::SavedVariable(w, /*is_output=*/false);
  node->geometry = geometry;
  node->slot = slot;
  node->layer = layer;
  node->input_sizes = x.sizes().vec();
  torch::autograd::set_history(y, node);
  return y;
}

}  // namespace approx
