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
#include "kernels/kernel.h"

namespace approx {
namespace {

// Computes one approximated product by its plan, and counts what it needed.
at::Tensor computed(const LayerSlot& slot, const Plan& plan, const Operands& operands,
                    const MethodCall& call) {
  const auto& use = slot.of(operands.product);
  if (use.count != nullptr) use.count->add(plan, operands);
  if (slot.gradient != nullptr && operands.product == Product::kWeightGradient) {
    if (const auto pruned = pruned_gradient(plan, operands); pruned.replaces) {
      slot.gradient->count(pruned.values.defined() ? pruned.values
                                                   : used_gradient(plan, operands.dy));
      slot.gradient->entries = operands.dy.numel();
    }
  }
  if (slot.part != nullptr && operands.product == Product::kWeightGradient) {
    slot.part->note(plan, *use.method, operands.geometry.groups);
  }
  auto result = run(plan, operands, {}, slot.variants);
  // An exact result that finishing changes without dropping entries is counted with a density of 1,
  // so that it is not taken for the exact product. A second handle would keep it from being written
  // over, hence the address and the version.
  const bool exact = use.count != nullptr && std::holds_alternative<Dense>(plan);
  const auto* tensor = result.unsafeGetTensorImpl();
  const auto version = exact ? result._version() : 0;
  auto finished = use.method->finish(operands, std::move(result), call);
  if (use.count == nullptr) return std::move(finished.result);
  use.count->add_finished(finished);
  if (exact && !finished.kept.defined() &&
      (finished.result.unsafeGetTensorImpl() != tensor || finished.result._version() != version)) {
    const auto entries = static_cast<double>(finished.result.numel());
    use.count->entries += entries;
    use.count->host_kept += entries;
  }
  return std::move(finished.result);
}

Rng draws_of(const LayerSlot& slot, uint32_t layer, Product product) {
  return {.seed = slot.seed,
          .layer = layer,
          .step = slot.step,
          .product = product,
          .rank = slot.rank,
          .step_at = slot.step_at};
}

// A method's visitor, and which gradient it was shown.
class ShownGradient final : public GradientVisitor {
 public:
  explicit ShownGradient(std::unique_ptr<GradientVisitor> to) : to_(std::move(to)) {}

  void begin(const at::Tensor& gradient, int64_t blocks) override {
    note(gradient);
    to_->begin(gradient, blocks);
  }
  void visit(int64_t block, int64_t first, int64_t last) override {
    to_->visit(block, first, last);
  }
  GradientLook look(const at::Tensor& gradient) override {
    note(gradient);
    return to_->look(gradient);
  }

  // The method's, if this is what it was shown.
  GradientVisitor* of(const at::Tensor& dy) const {
    const auto shown = gradient_.lock();
    return shown == dy.getIntrusivePtr() && dy._version() == version_ ? to_.get() : nullptr;
  }

 private:
  void note(const at::Tensor& gradient) {
    gradient_ = gradient.getIntrusivePtr();
    version_ = gradient._version();
  }

  std::unique_ptr<GradientVisitor> to_;
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
      Scratch scratch;
      auto own = method->visitor(call_of(Product::kDataGradient, scratch));
      // A part of dY that is pruned would be pruned once more in the sum.
      if (own != nullptr && is_sole_sender(writer, *this)) {
        shown_ = std::make_unique<ShownGradient>(std::move(own));
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
    Scratch scratch;
    const auto planned = [&] {
      auto call = call_of(operands.product, scratch);
      call.visitor = shown_ == nullptr ? nullptr : shown_->of(dy);
      call.may_overwrite = may_overwrite;
      return computed(slot, slot.of(operands.product).method->plan(operands, call), operands, call);
    };

    const bool data = task_should_compute_output(0), weight = task_should_compute_output(1);
    const bool data_planned = slot.of(Product::kDataGradient).method != nullptr;
    const bool weight_planned = slot.of(Product::kWeightGradient).method != nullptr;
    const bool exact_data = data && !data_planned, exact_weight = weight && !weight_planned;
    {
      const ConvolutionBackwardScope both(!is_linear_number(layer));
      if (exact_data && exact_weight && !PhaseClock::takes_gradients_apart()) {
        std::tie(result[0], result[1]) = dense_gradients(operands, true, true, slot.variants);
      } else {
        const auto exact = [&](bool of_data) {
          return dense_gradients(operands, of_data, !of_data, slot.variants);
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
  MethodCall call_of(Product product, Scratch& scratch) const {
    MethodCall call(draws_of(slot, layer, product), slot.norm_follows,
                    forward ? &*forward : nullptr, &scratch);
    call.loss_scale = slot.loss_scale;
    return call;
  }

  // The method that plans all that is to be made of dY; null where that is not one.
  Method* sole_reader() const {
    if (task_should_compute_output(2)) return nullptr;
    Method* sole = nullptr;
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      if (!task_should_compute_output(product == Product::kDataGradient ? 0 : 1)) continue;
      auto* own = slot.of(product).method;
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
  const auto* method = slot.of(Product::kWeightGradient).method;
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
    if (auto* forward = slot.of(Product::kForward).method) {
      const MethodCall call(draws_of(slot, layer, Product::kForward), slot.norm_follows);
      plan = forward->plan(operands, call);
      if (method == forward && method->keep() == Method::Keep::kSample) {
        kept = operands.x = sampled_input(operands.x, *plan, geometry);
      }
      y = computed(slot, *plan, operands, call);
    } else {
      y = run(Dense{}, operands, {}, slot.variants);
    }
    if (bias.defined()) y.add_(bias.view({1, -1, 1, 1}));
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
