#include "core/layers.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/nn/init.h>

#include <cmath>

#include "kernels/kernel.h"

namespace approx {
namespace {

// Plans and computes one approximated product, and counts what it needed.
at::Tensor planned(const LayerSlot& slot, uint32_t layer, const Operands& operands) {
  const auto& use = slot.of(operands.product);
  const Rng rng{slot.seed, layer, slot.step, operands.product, 0};
  const Plan plan = use.method->plan(operands, rng);
  if (use.count != nullptr) {
    ++use.count->calls;
    use.count->macs += static_cast<double>(plan_macs(plan, operands));
    if (const double density = plan_density(plan, operands); !std::isnan(density)) {
      use.count->density_sum += density;
      ++use.count->density_calls;
    }
  }
  return use.method->finish(operands.product, run(plan, operands), rng);
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
    Operands operands{x.unpack(), w.unpack(), dy, geometry, Product::kDataGradient, input_sizes};

    const bool data = task_should_compute_output(0), weight = task_should_compute_output(1);
    const bool data_planned = slot.of(Product::kDataGradient).method != nullptr;
    const bool weight_planned = slot.of(Product::kWeightGradient).method != nullptr;
    const bool exact_data = data && !data_planned, exact_weight = weight && !weight_planned;
    if (exact_data || exact_weight) {
      std::tie(result[0], result[1]) = dense_gradients(operands, exact_data, exact_weight);
    }
    if (data && data_planned) result[0] = planned(slot, layer, operands);
    if (weight && weight_planned) {
      operands.product = Product::kWeightGradient;
      result[1] = planned(slot, layer, operands);
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
  LayerSlot slot;  // a copy: the layer's own belongs to its next step
  uint32_t layer = 0;
  std::vector<int64_t> input_sizes;
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
  at::Tensor y;
  {
    const at::NoGradGuard no_grad;
    const Operands operands{x, w, {}, geometry, Product::kForward, x.sizes().vec()};
    y = slot.of(Product::kForward).method != nullptr ? planned(slot, layer, operands)
                                                     : run(Dense{}, operands);
    if (bias.defined()) y.add_(bias.view({1, -1, 1, 1}));
  }
  if (!at::GradMode::is_enabled() || !torch::autograd::any_variable_requires_grad({x, w, bias})) {
    return y;
  }
  const auto node = std::shared_ptr<ApproximatedConvBackward>(new ApproximatedConvBackward(),
                                                              torch::autograd::deleteNode);
  node->set_next_edges(torch::autograd::collect_next_edges(x, w, bias));
  const auto* method = slot.of(Product::kWeightGradient).method;
  if (w.requires_grad() && (method == nullptr || method->needs_input())) {
    node->x = torch::autograd::SavedVariable(x, /*is_output=*/false);
  }
  node->w = torch::autograd::SavedVariable(w, /*is_output=*/false);
  node->geometry = geometry;
  node->slot = slot;
  node->layer = layer;
  node->input_sizes = x.sizes().vec();
  torch::autograd::set_history(y, node);
  return y;
}

namespace {

std::string conv_kind(int64_t kernel) { return fmt::format("conv{0}x{0}", kernel); }

}  // namespace

ConvImpl::ConvImpl(const ConvOptions& o) : geometry_{o.stride, o.padding, 1, o.groups} {
  weight = register_parameter(
      "weight", at::empty({o.out_channels, o.in_channels / o.groups, o.kernel, o.kernel})
                    .contiguous(at::MemoryFormat::ChannelsLast));
  torch::nn::init::kaiming_normal_(weight, 0, torch::kFanOut, torch::kReLU);
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
  const auto y =
      slot.exact() || !is_training()
          ? at::conv2d(x, weight, bias, {g.stride, g.stride}, {g.padding, g.padding},
                       {g.dilation, g.dilation}, g.groups)
          : approximated_conv(x, weight, bias, g, slot, static_cast<uint32_t>(info.index));
  info.in_size = x.size(2);
  info.out_size = y.size(2);
  info.macs = y.size(1) * y.size(2) * y.size(3) * weight.size(1) * weight.size(2) * weight.size(3);
  return y;
}

LinearImpl::LinearImpl(int64_t in_features, int64_t out_features) {
  weight = register_parameter("weight", at::empty({out_features, in_features}));
  bias = register_parameter("bias", at::empty({out_features}));
  const double bound = 1 / std::sqrt(static_cast<double>(in_features));
  torch::nn::init::uniform_(weight, -bound, bound);
  torch::nn::init::uniform_(bias, -bound, bound);
  info.kind = "linear";
  info.in_channels = in_features;
  info.out_channels = out_features;
  info.parameters = weight.numel() + bias.numel();
  info.macs = weight.numel();
}

at::Tensor LinearImpl::forward(const at::Tensor& x) {
  if (slot.exact() || !is_training()) return at::linear(x, weight, bias);
  // The number that keys random draws tells linear layers from convolutions.
  constexpr uint32_t kLinear = 1u << 15;
  return approximated_conv(x.unsqueeze(-1).unsqueeze(-1), weight.unsqueeze(-1).unsqueeze(-1), bias,
                           Geometry{}, slot, kLinear | static_cast<uint32_t>(info.index))
      .flatten(1);
}

}  // namespace approx
