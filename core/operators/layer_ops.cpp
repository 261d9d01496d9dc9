// torch.ops.approxtrain.layer_*: what the layers of the Python package call (python/).
//
// Beside what conv2d and linear of torch_ops.cpp take, these name the products that a schedule
// approximates, and their draws by (seed, layer, step, rank) as a training of the program does:
// equal settings then give equal draws. What a layer spends is counted where its caller says.
#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <torch/library.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "core/nn/approximated_conv.h"
#include "core/operators/checks.h"
#include "core/operators/known_method.h"
#include "core/operators/products.h"

namespace approx {
namespace {

// The method of a layer, which is not the exact product.
Known layer_method(std::string_view text) {
  auto known = find_method(text);
  TORCH_CHECK_VALUE(!known->is_dense(), known->text, ": names no approximation");
  return known;
}

constexpr int64_t bit(Product product) { return int64_t{1} << static_cast<int>(product); }

// What a layer spent, by product. Kept alive by the caller's handle and by backward passes to come.
struct LayerUse {
  std::array<UseCount, 3> of;
};

struct LayerUses {
  std::mutex mutex;
  std::map<int64_t, std::shared_ptr<LayerUse>> by_handle;
  int64_t next = 1;
};

LayerUses& layer_uses() {
  static LayerUses uses;
  return uses;
}

int64_t new_layer_counts() {
  auto& uses = layer_uses();
  const std::lock_guard lock(uses.mutex);
  uses.by_handle.emplace(uses.next, std::make_shared<LayerUse>());
  return uses.next++;
}

void drop_layer_counts(int64_t handle) {
  auto& uses = layer_uses();
  const std::lock_guard lock(uses.mutex);
  uses.by_handle.erase(handle);
}

// Null for 0, which counts nothing.
std::shared_ptr<LayerUse> layer_use(int64_t handle) {
  if (handle == 0) return nullptr;
  auto& uses = layer_uses();
  const std::lock_guard lock(uses.mutex);
  const auto found = uses.by_handle.find(handle);
  TORCH_CHECK_VALUE(found != uses.by_handle.end(), "approxtrain: no counts with number ", handle);
  return found->second;
}

// For each product: calls, multiply-accumulates of the exact product in the method's place, those
// that were needed, entries of the gradients that were replaced, and how many of them were kept.
// Waits for the device.
std::vector<double> layer_counts(int64_t handle) {
  std::vector<double> values;
  const auto use = layer_use(handle);
  TORCH_CHECK_VALUE(use != nullptr, "approxtrain: no counts with number ", handle);
  for (const auto& count : use->of) {
    const auto calls = static_cast<double>(count.calls);
    values.insert(values.end(),
                  {calls, count.dense_macs, count.macs(), count.entries, count.kept()});
  }
  return values;
}

// What keeps the method and the counts alive until the backward pass.
struct LayerOwner {
  std::shared_ptr<Method> method;
  std::shared_ptr<LayerUse> use;
};

// The arguments of a layer's operator beside the tensors and the geometry.
struct LayerCall {
  c10::string_view method;
  int64_t products, seed, layer, step, rank;
  bool norm_follows;
  int64_t counts;
};

LayerSlot slot_of_layer(const LayerCall& call) {
  const auto known = layer_method(call.method);
  TORCH_CHECK_VALUE(call.layer >= 0 && call.layer < (1 << 16), "layer must be below 65536, got ",
                    call.layer);
  TORCH_CHECK_VALUE(call.rank >= 0 && call.rank < (1 << 16), "rank must be below 65536, got ",
                    call.rank);
  TORCH_CHECK_VALUE(call.step >= 0, "step must be at least 0, got ", call.step);
  auto owner = std::make_shared<LayerOwner>(LayerOwner{known->method, layer_use(call.counts)});
  LayerSlot slot;
  for (const auto product : known->products) {
    if ((call.products & bit(product)) == 0) continue;
    const auto p = static_cast<size_t>(product);
    slot.orders.methods[p] = known->method.get();
    if (owner->use != nullptr) slot.counts.use[p] = &owner->use->of[p];
  }
  slot.orders.seed = static_cast<uint64_t>(call.seed);
  slot.orders.step = static_cast<uint64_t>(call.step);
  slot.orders.rank = static_cast<uint32_t>(call.rank);
  slot.orders.norm_follows = call.norm_follows;
  slot.orders.owner = std::shared_ptr<Method>(owner, owner->method.get());
  return slot;
}

// The caller puts the layer's name in front of messages.
void check_tensor(const at::Tensor& tensor, const at::Tensor& x, const char* what) {
  check_operand(tensor, /*op=*/nullptr, what, /*may_be_meta=*/false);
  check_same(x, tensor, /*op=*/nullptr, what);
  TORCH_CHECK(!at::isTensorSubclassLike(tensor), what,
              " is a wrapped tensor: a layer cannot be traced or transformed in training");
  TORCH_CHECK(!tensor._fw_grad(0).defined(), what,
              " is a dual tensor: there is no derivative in forward mode; use backward");
}

// y [N,Co,Ho,Wo] of x [N,Ci,H,W] and w [Co,Ci/groups,Kh,Kw], counted.
at::Tensor counted_conv(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                        const Geometry& geometry, const LayerCall& call) {
  const LayerSlot slot = slot_of_layer(call);
  auto y = approximated_conv(x, w, bias, geometry, slot, static_cast<uint32_t>(call.layer));
  const double macs = static_cast<double>(y.numel()) * static_cast<double>(w.numel() / w.size(0));
  const bool trains = at::GradMode::is_enabled();
  const std::array<bool, 3> computed = {true, trains && x.requires_grad(),
                                        trains && w.requires_grad()};
  for (size_t p = 0; p < computed.size(); ++p) {
    if (computed[p] && slot.counts.use[p] != nullptr) slot.counts.use[p]->dense_macs += macs;
  }
  return y;
}

at::Tensor layer_conv2d(const at::Tensor& x, const at::Tensor& w,
                        const std::optional<at::Tensor>& given_bias, at::IntArrayRef stride,
                        at::IntArrayRef padding, at::IntArrayRef dilation, int64_t groups,
                        c10::string_view method, int64_t products, int64_t seed, int64_t layer,
                        int64_t step, int64_t rank, bool norm_follows, int64_t counts) {
  const at::Tensor bias = given_bias.value_or(at::Tensor());
  TORCH_CHECK_VALUE(x.dim() == 4 && w.dim() == 4 && groups >= 1 && w.size(0) >= 1 &&
                        w.size(0) % groups == 0 && x.size(1) == w.size(1) * groups,
                    "x ", x.sizes(), " and w ", w.sizes(), " do not fit with ", groups, " groups");
  check_tensor(x, x, "x");
  check_tensor(w, x, "w");
  if (bias.defined()) check_tensor(bias, x, "bias");
  TORCH_CHECK_VALUE(
      stride.size() == 2 && padding.size() == 2 && dilation.size() == 2 &&
          std::min(stride[0], stride[1]) >= 1 && std::min(padding[0], padding[1]) >= 0 &&
          std::min(dilation[0], dilation[1]) >= 1,
      "stride ", stride, ", padding ", padding, " and dilation ", dilation, " make no convolution");
  for (size_t d = 0; d < 2; ++d) {
    const auto at = static_cast<int64_t>(2 + d);
    TORCH_CHECK_VALUE(
        w.size(at) >= 1 && x.size(at) + 2 * padding[d] > dilation[d] * (w.size(at) - 1),
        "the kernel of w ", w.sizes(), " is larger than the padded x ", x.sizes());
  }
  if (x.numel() == 0) return at::conv2d(x, w, bias, stride, padding, dilation, groups);
  const auto y = counted_conv(x, w, bias, geometry_of(stride, padding, dilation, groups),
                              {method, products, seed, layer, step, rank, norm_follows, counts});
  return laid_out_like(y, x, w);
}

at::Tensor layer_linear(const at::Tensor& x, const at::Tensor& w,
                        const std::optional<at::Tensor>& given_bias, c10::string_view method,
                        int64_t products, int64_t seed, int64_t layer, int64_t step, int64_t rank,
                        bool norm_follows, int64_t counts) {
  const at::Tensor bias = given_bias.value_or(at::Tensor());
  TORCH_CHECK_VALUE(x.dim() >= 1 && w.dim() == 2 && x.size(-1) == w.size(1), "x ", x.sizes(),
                    " and w ", w.sizes(), " do not fit: w is [out,in]");
  check_tensor(x, x, "x");
  check_tensor(w, x, "w");
  if (bias.defined()) check_tensor(bias, x, "bias");
  if (x.numel() == 0 || w.numel() == 0) return at::linear(x, w, bias);
  const auto y =
      counted_conv(x.reshape({-1, x.size(-1), 1, 1}), w.unsqueeze(-1).unsqueeze(-1), bias,
                   Geometry{}, {method, products, seed, layer, step, rank, norm_follows, counts});
  auto sizes = x.sizes().vec();
  sizes.back() = w.size(0);
  return y.reshape(sizes);
}

// The products that a method approximates as bits (1 forward, 2 data gradient, 4 weight gradient),
// whether they go by one sample, the fewest input channels of a layer that it approximates.
std::vector<int64_t> method_facts(c10::string_view text) {
  const auto known = layer_method(text);
  int64_t bits = 0;
  for (const auto product : known->products) bits |= bit(product);
  return {bits, known->draws_one_sample ? 1 : 0, known->least_channels};
}

}  // namespace

TORCH_LIBRARY_FRAGMENT(approxtrain, library) {
  library.def(
      "layer_conv2d(Tensor x, Tensor w, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
      "int groups, str method, int products, int seed, int layer, int step, int rank, "
      "bool norm_follows, int counts) -> Tensor",
      &layer_conv2d);
  library.def(
      "layer_linear(Tensor x, Tensor w, Tensor? bias, str method, int products, int seed, "
      "int layer, int step, int rank, bool norm_follows, int counts) -> Tensor",
      &layer_linear);
  library.def("method_facts(str method) -> int[]", &method_facts);
  library.def("new_layer_counts() -> int", &new_layer_counts);
  library.def("drop_layer_counts(int handle) -> ()", &drop_layer_counts);
  library.def("layer_counts(int handle) -> float[]", &layer_counts);
}

}  // namespace approx
