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
#include "core/nn/layer_products.h"
#include "core/nn/phases.h"

namespace approx {
namespace {

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
    if (auto* method = sole_planner(slot, asked())) {
      const auto request =
          method->look(gradient_call(slot, layer, Product::kDataGradient, plan_of_forward()));
      // A part of dY that is pruned would be pruned once more in the sum.
      if (request && is_sole_sender(writer, *this)) {
        shown_ = std::make_unique<ShownGradient>(*request);
      }
    }
    return shown_.get();
  }

  std::optional<double> drops_examples() const override {
    const auto* method = slot.orders.of(Product::kDataGradient);
    return method == nullptr ? std::nullopt : method->drops_examples();
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
    const auto* sole = sole_planner(slot, asked());
    const bool ours = dy.use_count() == 1 && dy.storage().use_count() == 1 && !dy.is_neg();
    const auto seen = shown_ == nullptr ? std::nullopt : shown_->of(dy);
    auto computed = gradient_products(
        slot, {.operands = {.x = x.unpack(),
                            .w = w.unpack(),
                            .dy = without_minus(dy),
                            .geometry = geometry,
                            .product = Product::kDataGradient,
                            .input_sizes = input_sizes},
               .layer = layer,
               .forward = plan_of_forward(),
               .seen = seen ? &*seen : nullptr,
               .may_overwrite = ours && sole != nullptr && sole->looks_at_dy_alone(),
               .asked = asked()});
    std::ranges::move(computed, result.begin());
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
  const Plan* plan_of_forward() const { return forward ? &*forward : nullptr; }

  GradientsAsked asked() const {
    return {.data = task_should_compute_output(0),
            .weight = task_should_compute_output(1),
            .bias = task_should_compute_output(2)};
  }

  std::unique_ptr<ShownGradient> shown_;
};

}  // namespace

at::Tensor cast_operand(const at::Tensor& tensor) {
  if (!tensor.defined() || !at::autocast::is_autocast_enabled(tensor.device().type()))
    return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(tensor.device().type()), tensor,
                                   tensor.device().type());
}

at::Tensor without_minus(const at::Tensor& tensor) {
  return tensor.defined() && tensor.is_neg() ? tensor.resolve_neg() : tensor;
}

at::Tensor approximated_conv(const at::Tensor& input, const at::Tensor& weight,
                             const at::Tensor& input_bias, const Geometry& geometry,
                             const LayerSlot& slot, uint32_t layer) {
  const auto x = without_minus(cast_operand(input)), w = without_minus(cast_operand(weight)),
             bias = without_minus(cast_operand(input_bias));
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
  auto forward = forward_product(x, w, bias, geometry, slot, layer);
  const auto& y = forward.y;
  if (!at::GradMode::is_enabled() || !torch::autograd::any_variable_requires_grad({x, w, bias})) {
    return y;
  }
  const auto node = std::shared_ptr<ApproximatedConvBackward>(new ApproximatedConvBackward(),
                                                              torch::autograd::deleteNode);
  node->set_next_edges(torch::autograd::collect_next_edges(x, w, bias));
  if (w.requires_grad() && needs_input(slot)) {
    node->x = torch::autograd::SavedVariable(forward.kept, /*is_output=*/false);
  }
  node->forward = std::move(forward.plan);
  node->w = torch::autograd::SavedVariable(w, /*is_output=*/false);
  node->geometry = geometry;
  node->slot = slot;
  node->layer = layer;
  node->input_sizes = x.sizes().vec();
  torch::autograd::set_history(y, node);
  return y;
}

}  // namespace approx
