#include "core/nn/layers.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/nn/init.h>

#include <cmath>
#include <optional>

#include "base/error.h"
#include "core/nn/phases.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

// Computes one approximated product by its plan, and counts what it needed.
at::Tensor computed(const LayerSlot& slot, const Plan& plan, const Operands& operands,
                    const Rng& rng) {
  const auto& use = slot.of(operands.product);
  if (use.count != nullptr) use.count->add(plan, operands);
  if (slot.gradient != nullptr && operands.product == Product::kWeightGradient) {
    if (const auto* pruned = std::get_if<PrunedDY>(&plan)) slot.gradient->count(pruned->dy);
    if (const auto* sparse = std::get_if<SparseDY>(&plan)) {
      slot.gradient->nonzero = sparse->value.count_nonzero();
    }
  }
  auto finished = use.method->finish(operands, run(plan, operands), rng);
  if (use.count != nullptr) use.count->add_finished(finished);
  return std::move(finished.result);
}

Rng stream(const LayerSlot& slot, uint32_t layer, Product product) {
  return {slot.seed, layer, slot.step, product, 0};
}

at::Tensor planned(const LayerSlot& slot, uint32_t layer, const Operands& operands) {
  const Rng rng = stream(slot, layer, operands.product);
  return computed(slot, slot.of(operands.product).method->plan(operands, rng), operands, rng);
}

// The backward of an approximated layer. A node of the autograd graph of our own rather than a
// torch::autograd::Function, whose boxed arguments cost more than a small layer's dispatch.
class ApproximatedConvBackward final : public torch::autograd::Node {
 public:
  std::string name() const override { return "ApproximatedConvBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    torch::autograd::variable_list result(3);
    const auto& dy = gradients[0];
    if (!dy.defined()) return result;
    if (at::GradMode::is_enabled()) {
      throw Error(ErrorKind::kUsage,
                  "an approximated gradient has no gradient of its own: call backward without "
                  "create_graph");
    }
    Scratch scratch;
    Operands operands{.x = x.unpack(),
                      .w = w.unpack(),
                      .dy = dy,
                      .geometry = geometry,
                      .product = Product::kDataGradient,
                      .input_sizes = input_sizes,
                      .norm_follows = slot.norm_follows,
                      .forward = forward ? &*forward : nullptr,
                      .scratch = &scratch};

    const bool data = task_should_compute_output(0), weight = task_should_compute_output(1);
    const bool data_planned = slot.of(Product::kDataGradient).method != nullptr;
    const bool weight_planned = slot.of(Product::kWeightGradient).method != nullptr;
    const bool exact_data = data && !data_planned, exact_weight = weight && !weight_planned;
    if (exact_data && exact_weight && !PhaseClock::runs()) {
      std::tie(result[0], result[1]) = dense_gradients(operands, true, true);
    } else {
      if (data) {
        const PhaseScope phase(Phase::kDataGradient);
        result[0] = data_planned ? planned(slot, layer, operands)
                                 : dense_gradients(operands, true, false).first;
      }
      if (weight) {
        const PhaseScope phase(Phase::kWeightGradient);
        operands.product = Product::kWeightGradient;
        result[1] = weight_planned ? planned(slot, layer, operands)
                                   : dense_gradients(operands, false, true).second;
      }
    }
    if (task_should_compute_output(2)) result[2] = dy.sum({0, 2, 3});
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
};

bool autocast_is_on(const at::Tensor& tensor) {
  return at::autocast::is_autocast_enabled(tensor.device().type());
}

// Under autocast LibTorch casts the operands of its own convolutions; ours must be cast likewise.
at::Tensor autocast(const at::Tensor& tensor) {
  if (!tensor.defined() || !autocast_is_on(tensor)) return tensor;
  return at::autocast::cached_cast(at::autocast::get_autocast_dtype(tensor.device().type()), tensor,
                                   tensor.device().type());
}

// Adds, on the device, how many entries of a gradient were kept.
void add_kept(UseCount& count, const at::Tensor& gradient, const at::Tensor& kept) {
  count.entries += static_cast<double>(gradient.numel());
  count.device_kept =
      count.device_kept.defined() ? count.device_kept.add_(kept) : kept.to(at::kDouble);
}

}  // namespace

void GradientCount::count(const at::Tensor& gradient) {
  nonzero = gradient.count_nonzero();
  entries = gradient.numel();
}

void UseCount::add(const Plan& plan, const Operands& operands) {
  ++calls;
  if (const auto* pruned = std::get_if<PrunedDY>(&plan)) {
    macs_per_kept =
        static_cast<double>(operands.w.size(1) * operands.w.size(2) * operands.w.size(3));
    add_kept(*this, pruned->dy, pruned->kept);
    return;
  }
  if (const auto* sparse = std::get_if<SparseDY>(&plan)) {
    entries += static_cast<double>(operands.dy.numel());
    host_kept += static_cast<double>(sparse->value.numel());
  }
  host_macs += static_cast<double>(plan_macs(plan, operands));
}

void UseCount::add_finished(const Finished& finished) {
  if (finished.kept.defined()) add_kept(*this, finished.result, finished.kept);
}

double UseCount::kept() const {
  return host_kept + (device_kept.defined() ? device_kept.item<double>() : 0);
}

double UseCount::macs() const {
  return host_macs + (device_kept.defined() ? macs_per_kept * device_kept.item<double>() : 0);
}

double UseCount::density() const { return kept() / entries; }

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
                      .input_sizes = x.sizes().vec(),
                      .norm_follows = slot.norm_follows};
    if (auto* forward = slot.of(Product::kForward).method) {
      const Rng rng = stream(slot, layer, Product::kForward);
      plan = forward->plan(operands, rng);
      if (method == forward && method->keep() == Method::Keep::kSample) {
        kept = operands.x = sampled_input(x, *plan, geometry);
      }
      y = computed(slot, *plan, operands, rng);
    } else {
      y = run(Dense{}, operands);
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

namespace {

void watch(const at::Tensor& x, const at::Tensor& y, Layer::Probe& probe) {
  probe = {x.detach(), y, {}};
  if (!y.requires_grad()) return;
  // Here, before anybody changes y in place.
  y.register_hook([&probe](const at::Tensor& gradient) { probe.dy = gradient.detach(); });
}

// Evaluation is exact.
const LayerSlot& slot_in_use(const LayerSlot& slot, bool training) {
  static const LayerSlot kExact;
  return training ? slot : kExact;
}

std::string conv_kind(int64_t kernel) { return fmt::format("conv{0}x{0}", kernel); }

thread_local bool zero_weights = false;

}  // namespace

ZeroWeights::ZeroWeights() : before_(std::exchange(zero_weights, true)) {}
ZeroWeights::~ZeroWeights() { zero_weights = before_; }

ConvImpl::ConvImpl(const ConvOptions& o) : geometry_{o.stride, o.padding, 1, o.groups} {
  weight = register_parameter(
      "weight", at::empty({o.out_channels, o.in_channels / o.groups, o.kernel, o.kernel})
                    .contiguous(at::MemoryFormat::ChannelsLast));
  if (zero_weights) {
    torch::nn::init::zeros_(weight);
  } else {
    torch::nn::init::kaiming_normal_(weight, 0, torch::kFanOut, torch::kReLU);
  }
  if (o.bias) bias = register_parameter("bias", at::zeros({o.out_channels}));
  info.kind = conv_kind(o.kernel);
  info.in_channels = o.in_channels;
  info.out_channels = o.out_channels;
  info.kernel = o.kernel;
  info.stride = o.stride;
  info.padding = o.padding;
  info.groups = o.groups;
  info.parameters = weight.numel() + (o.bias ? o.out_channels : 0);
}

at::Tensor ConvImpl::forward(const at::Tensor& x) {
  const auto& g = geometry_;
  const auto& used = slot_in_use(slot, is_training());
  const bool libtorch =
      used.exact() && !PhaseClock::runs() && (autocast_is_on(x) || !dense_pays(x, weight, g));
  const auto y =
      libtorch ? at::conv2d(x, weight, bias, {g.stride, g.stride}, {g.padding, g.padding},
                            {g.dilation, g.dilation}, g.groups)
               : approximated_conv(x, weight, bias, g, used, static_cast<uint32_t>(info.index));
  if (probing) watch(x, y, probe);
  if (used.gradient != nullptr && y.requires_grad()) {
    y.register_hook([count = used.gradient](const at::Tensor& dy) { count->count(dy); });
  }
  if (probing || is_training()) {  // photographs are evaluated at a size of their own
    info.in_size = x.size(2);
    info.out_size = y.size(2);
    info.macs =
        y.size(1) * y.size(2) * y.size(3) * weight.size(1) * weight.size(2) * weight.size(3);
  }
  return y;
}

Operands ConvImpl::probed() const {
  return {.x = probe.x,
          .w = weight.detach(),
          .dy = probe.dy,
          .geometry = geometry_,
          .input_sizes = probe.x.sizes().vec(),
          .norm_follows = info.norm_follows};
}

Operands LinearImpl::probed() const {
  const auto map = [](const at::Tensor& t) {
    return t.defined() ? t.reshape({t.size(0), t.size(1), 1, 1}) : t;
  };
  return {.x = map(probe.x),
          .w = map(weight.detach()),
          .dy = map(probe.dy),
          .geometry = {},
          .input_sizes = {probe.x.size(0), probe.x.size(1), 1, 1},
          .norm_follows = info.norm_follows};
}

LinearImpl::LinearImpl(int64_t in_features, int64_t out_features, bool with_bias) {
  const double bound = zero_weights ? 0 : 1 / std::sqrt(static_cast<double>(in_features));
  const auto drawn = [bound](const at::Tensor& tensor) {
    return bound > 0 ? torch::nn::init::uniform_(tensor, -bound, bound)
                     : torch::nn::init::zeros_(tensor);
  };
  weight = register_parameter("weight", drawn(at::empty({out_features, in_features})));
  if (with_bias) bias = register_parameter("bias", drawn(at::empty({out_features})));
  info.kind = "linear";
  info.in_channels = in_features;
  info.out_channels = out_features;
  info.parameters = weight.numel() + (with_bias ? out_features : 0);
  info.macs = weight.numel();
}

at::Tensor LinearImpl::forward(const at::Tensor& x) {
  const auto& used = slot_in_use(slot, is_training());
  if (used.exact() && !PhaseClock::runs()) {
    auto y = at::linear(x, weight, bias);
    if (probing) watch(x, y, probe);
    return y;
  }
  // The number that keys random draws tells linear layers from convolutions.
  constexpr uint32_t kLinear = 1u << 15;
  return approximated_conv(x.unsqueeze(-1).unsqueeze(-1), weight.unsqueeze(-1).unsqueeze(-1), bias,
                           Geometry{}, used, kLinear | static_cast<uint32_t>(info.index))
      .flatten(1);
}

}  // namespace approx
