#include "core/nn/layers.h"

#include <ATen/ATen.h>
#include <ATen/autocast_mode.h>
#include <torch/nn/init.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "core/nn/layer_number.h"
#include "core/nn/phases.h"
#include "core/nn/weight_start.h"
#include "kernels/kernel.h"

namespace approx {
namespace {

void watch(const at::Tensor& x, const at::Tensor& y, Layer& layer) {
  layer.info.reads_images = !x.requires_grad();
  auto& probe = layer.probe;
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

// Whether LibTorch's own function can compute a layer: nothing of it is planned, and what it spends
// on each product is not asked.
bool takes_libtorch(const Layer& layer, const LayerSlot& used) {
  return used.orders.exact() && (layer.library_alone() || !PhaseClock::runs());
}

// Counts what LibTorch's own node computes: the forward product now, the gradients when a backward
// pass comes by, as it does after every forward pass of a training step.
void count_libtorch(const LayerSlot& slot, const at::Tensor& x, const at::Tensor& weight,
                    const at::Tensor& y) {
  if (slot.counts.variants == nullptr) return;
  const auto count = [&](Product product) {
    slot.counts.variants->of(product).add(PlanTraits<Dense>::kName, kLibTorch);
  };
  count(Product::kForward);
  if (!y.requires_grad()) return;
  if (x.requires_grad()) count(Product::kDataGradient);
  if (weight.requires_grad()) count(Product::kWeightGradient);
}

// The three products have the same count.
void add_dense_macs(const LayerSlot& slot, double macs) {
  for (auto* sum : slot.counts.dense_macs) {
    if (sum != nullptr) *sum += macs;
  }
}

// The precision to which autocast casts the operands of a convolution; nothing: theirs.
std::optional<at::ScalarType> cast_type(const at::Tensor& x) {
  const auto device = x.device().type();
  if (!at::autocast::is_autocast_enabled(device)) return {};
  return at::autocast::get_autocast_dtype(device);
}

std::string conv_kind(int64_t kernel) { return fmt::format("conv{0}x{0}", kernel); }

thread_local bool zero_weights = false;

// The weight of a convolution, and its bias where that is defined.
void start(const at::Tensor& weight, const at::Tensor& bias, ConvStart how) {
  const at::NoGradGuard no_grad;
  if (!zero_weights && how == ConvStart::kByRecipe) return start_convolution(weight, bias);
  if (bias.defined()) torch::nn::init::zeros_(bias);
  if (zero_weights) {
    torch::nn::init::zeros_(weight);
    return;
  }
  draw_uniform(weight, weight);
  if (how != ConvStart::kDirac) return;
  const int64_t filters = std::min(weight.size(0), weight.size(1));
  torch::nn::init::dirac_(weight.narrow(0, 0, filters));
}

}  // namespace

uint32_t draws_number(const LayerInfo& info) {
  return layer_number(info.index, /*is_linear=*/!info.is_conv());
}

ZeroWeights::ZeroWeights() : before_(std::exchange(zero_weights, true)) {}
ZeroWeights::~ZeroWeights() { zero_weights = before_; }

ConvImpl::ConvImpl(const ConvOptions& o) : geometry_{o.stride, o.padding, 1, o.groups} {
  weight = register_parameter(
      "weight", at::empty({o.out_channels, o.in_channels / o.groups, o.kernel, o.kernel})
                    .contiguous(at::MemoryFormat::ChannelsLast));
  if (o.bias) bias = register_parameter("bias", at::empty({o.out_channels}));
  start(weight, bias, o.start);
  weight.set_requires_grad(!o.frozen);
  info.kind = conv_kind(o.kernel);
  info.in_channels = o.in_channels;
  info.out_channels = o.out_channels;
  info.kernel = o.kernel;
  info.stride = o.stride;
  info.padding = o.padding;
  info.groups = o.groups;
  info.parameters = weight.numel() + (o.bias ? o.out_channels : 0);
  info.frozen = o.frozen;
}

at::Tensor ConvImpl::forward(const at::Tensor& x) {
  const auto& g = geometry_;
  const auto& used = slot_in_use(slot, is_training());
  const bool libtorch =
      takes_libtorch(*this, used) &&
      (library_alone() ||
       !dense_pays(x, weight, g, /*dy_may_hold_zeros=*/!used.orders.norm_follows, cast_type(x)));
  auto y = libtorch ? at::conv2d(x, weight, bias, g.stride.both(), g.padding.both(),
                                 g.dilation.both(), g.groups)
                    : approximated_conv(x, weight, bias, g, used, draws_number(info));
  if (libtorch) count_libtorch(used, x, weight, y);
  if (probing) watch(x, y, *this);
  if (used.counts.gradient != nullptr && y.requires_grad() && !info.frozen) {
    y.register_hook([count = used.counts.gradient](const at::Tensor& dy) { count->count(dy); });
  }
  if (probing || is_training()) {  // photographs are evaluated at a size of their own
    info.in_size = x.size(2);
    info.out_size = y.size(2);
    info.macs =
        y.size(1) * y.size(2) * y.size(3) * weight.size(1) * weight.size(2) * weight.size(3);
  }
  add_dense_macs(used, static_cast<double>(info.macs * x.size(0)));
  return y;
}

Operands ConvImpl::probed() const {
  return {.x = probe.x,
          .w = weight.detach(),
          .dy = probe.dy,
          .geometry = geometry_,
          .input_sizes = probe.x.sizes().vec()};
}

Operands LinearImpl::probed() const {
  const auto map = [](const at::Tensor& t) {
    return t.defined() ? t.reshape({t.size(0), t.size(1), 1, 1}) : t;
  };
  return {.x = map(probe.x),
          .w = map(weight.detach()),
          .dy = map(probe.dy),
          .geometry = {},
          .input_sizes = {probe.x.size(0), probe.x.size(1), 1, 1}};
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
  const bool libtorch = takes_libtorch(*this, used);
  auto y = libtorch ? at::linear(x, weight, bias)
                    : approximated_conv(x.unsqueeze(-1).unsqueeze(-1),
                                        weight.unsqueeze(-1).unsqueeze(-1), bias, Geometry{}, used,
                                        draws_number(info))
                          .flatten(1);
  if (libtorch) count_libtorch(used, x, weight, y);
  add_dense_macs(used, static_cast<double>(info.macs * x.size(0)));
  if (probing) watch(x, y, *this);
  return y;
}

}  // namespace approx
