// torch.ops.approxtrain.layer_*: what the layers of the Python package call (python/).
//
// Beside what conv2d and linear of torch_ops.cpp take, these name the products that a schedule
// approximates, and their draws by (seed, layer, step, rank) as a training of the program does:
// equal settings then give equal draws. A layer's key stands for these and for where its calls are
// counted. Tensors that hold numbers go straight to the kernels; a trace records the operators of
// products.h.
#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/library.h>

#include <algorithm>
#include <memory>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/nn/approximated_conv.h"
#include "core/operators/checks.h"
#include "core/operators/known_method.h"
#include "core/operators/layer_records.h"
#include "core/operators/products.h"

namespace approx {
namespace {

// The method of a layer, which is not the exact product.
Known layer_method(std::string_view text) {
  auto known = find_method(text);
  TORCH_CHECK_VALUE(!known->is_dense(), known->text, ": names no approximation");
  return known;
}

int64_t new_layer(int64_t seed, int64_t layer, bool norm_follows) {
  TORCH_CHECK_VALUE(layer >= 0 && layer < (1 << 16), "layer must be below 65536, got ", layer);
  LayerRecord record;
  record.seed = static_cast<uint64_t>(seed);
  record.layer = static_cast<uint32_t>(layer);
  record.norm_follows = norm_follows;
  return new_record(record);
}

void set_layer_rank(int64_t number, int64_t rank) {
  TORCH_CHECK_VALUE(rank >= 0 && rank < (1 << 16), "rank must be below 65536, got ", rank);
  find_record(number)->rank = static_cast<uint32_t>(rank);
}

int64_t layer_key(int64_t number, int64_t step) {
  TORCH_CHECK_VALUE(step >= 0, "step must be at least 0, got ", step);
  return LayerKey{.record = number, .step = static_cast<uint64_t>(step)}.number();
}

std::tuple<int64_t, int64_t> layer_of_key(int64_t number) {
  const auto key = LayerKey::of(number);
  return {key.record, static_cast<int64_t>(key.step)};
}

void count_exact(int64_t number, double macs, int64_t computed) {
  find_record(number)->count(macs, computed, LayerSlot());
}

// For each product: calls, multiply-accumulates of the exact product, of those in the method's
// place, those that were needed, entries of the gradients that were replaced, and how many of them
// were kept. Waits for the device.
std::vector<double> layer_counts(int64_t number) {
  std::vector<double> values;
  const auto record = find_record(number);
  for (size_t p = 0; p < record->use.size(); ++p) {
    const auto& count = record->use[p];
    values.insert(values.end(), {static_cast<double>(count.calls), record->exact_macs[p],
                                 count.dense_macs, count.macs(), count.entries, count.kept()});
  }
  return values;
}

// What keeps the method and the counts alive until the backward pass.
struct LayerOwner {
  std::shared_ptr<Method> method;
  Record record;
};

// The arguments of a layer's operator beside the tensors and the geometry.
struct LayerCall {
  c10::string_view method;
  int64_t products;
  const at::Tensor& key;
};

LayerSlot slot_of_layer(const KnownMethod& known, const Draws& draws, int64_t products) {
  LayerSlot slot = draws.slot_of(known);
  for (const auto product : known.products) {
    if ((products & bit(product)) != 0) continue;
    const auto p = static_cast<size_t>(product);
    slot.orders.methods[p] = nullptr;
    slot.counts.use[p] = nullptr;
  }
  auto owner = std::make_shared<LayerOwner>(LayerOwner{known.method, draws.record});
  slot.orders.owner = std::shared_ptr<Method>(owner, owner->method.get());
  return slot;
}

// Whether torch.func transforms it. What torch.compile traces is not meant.
bool is_transformed(const at::Tensor& tensor) {
  return tensor.unsafeGetTensorImpl()->key_set().has_any(
      c10::DispatchKeySet({c10::DispatchKey::FuncTorchGradWrapper,
                           c10::DispatchKey::FuncTorchBatched, c10::DispatchKey::Batched}));
}

// The caller puts the layer's name in front of messages.
void check_tensor(const at::Tensor& tensor, const at::Tensor& x, const char* what) {
  check_operand(tensor, /*op=*/nullptr, what, /*may_be_meta=*/false);
  check_same(x, tensor, /*op=*/nullptr, what);
  TORCH_CHECK(!is_transformed(tensor), what,
              " is a wrapped tensor: a layer cannot be transformed in training");
  TORCH_CHECK(!tensor._fw_grad(0).defined(), what,
              " is a dual tensor: there is no derivative in forward mode; use backward");
}

// The products that a call computes, now or in its backward pass, as bits.
int64_t computed_products(const at::Tensor& x, const at::Tensor& w) {
  int64_t products = bit(Product::kForward);
  if (!at::GradMode::is_enabled()) return products;
  if (x.requires_grad()) products |= bit(Product::kDataGradient);
  if (w.requires_grad()) products |= bit(Product::kWeightGradient);
  return products;
}

// A key beside its layer, which goes on while a graph waits for its backward pass.
at::Tensor own_key(const at::Tensor& key) {
  static const auto op = c10::Dispatcher::singleton()
                             .findSchemaOrThrow("approxtrain::_layer_draw", "")
                             .typed<at::Tensor(const at::Tensor&)>();
  return op.call(key);
}

// y [N,Co,Ho,Wo] of x [N,Ci,H,W] and w [Co,Ci/groups,Kh,Kw], counted.
at::Tensor counted_conv(const at::Tensor& input, const at::Tensor& weight,
                        const at::Tensor& input_bias, const Geometry& geometry,
                        const LayerCall& layer) {
  const auto known = layer_method(layer.method);
  const int64_t computed = computed_products(input, weight);
  if (at::areAnyTensorSubclassLike({input, weight, layer.key})) {
    const auto x = cast_operand(input), w = cast_operand(weight), bias = cast_operand(input_bias);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const ConvCall call{restricted(known, layer.products), geometry, layer.products, computed};
    return call_conv2d(x, w, bias, own_key(layer.key), call)[0];
  }
  const auto draws = draws_of(layer.key.item<int64_t>(), /*is_key=*/true);
  const auto slot = slot_of_layer(*known, draws, layer.products);
  auto y = approximated_conv(input, weight, input_bias, geometry, slot, draws.layer());
  draws.record->count(macs_of(y, weight), computed, slot);
  return laid_out_like(y, input, weight);
}

at::Tensor layer_conv2d(const at::Tensor& x, const at::Tensor& w,
                        const std::optional<at::Tensor>& given_bias, at::IntArrayRef stride,
                        at::IntArrayRef padding, at::IntArrayRef dilation, int64_t groups,
                        c10::string_view method, int64_t products, const at::Tensor& key) {
  const at::Tensor bias = given_bias.value_or(at::Tensor());
  TORCH_CHECK_VALUE(x.dim() == 4 && w.dim() == 4 && groups >= 1 && w.sym_size(0) >= 1 &&
                        w.sym_size(0) % groups == 0 && x.sym_size(1) == w.sym_size(1) * groups,
                    "x ", x.sym_sizes(), " and w ", w.sym_sizes(), " do not fit with ", groups,
                    " groups");
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
    const auto taps = w.sym_size(at);
    TORCH_CHECK_VALUE(taps >= 1 && x.sym_size(at) + 2 * padding[d] > dilation[d] * (taps - 1),
                      "the kernel of w ", w.sym_sizes(), " is larger than the padded x ",
                      x.sym_sizes());
  }
  if (x.sym_numel() == 0) return at::conv2d(x, w, bias, stride, padding, dilation, groups);
  return counted_conv(x, w, bias, geometry_of(stride, padding, dilation, groups),
                      {method, products, key});
}

at::Tensor layer_linear(const at::Tensor& x, const at::Tensor& w,
                        const std::optional<at::Tensor>& given_bias, c10::string_view method,
                        int64_t products, const at::Tensor& key) {
  const at::Tensor bias = given_bias.value_or(at::Tensor());
  TORCH_CHECK_VALUE(x.dim() >= 1 && w.dim() == 2 && x.sym_size(-1) == w.sym_size(1), "x ",
                    x.sym_sizes(), " and w ", w.sym_sizes(), " do not fit: w is [out,in]");
  check_tensor(x, x, "x");
  check_tensor(w, x, "w");
  if (bias.defined()) check_tensor(bias, x, "bias");
  if (x.sym_numel() == 0 || w.sym_numel() == 0) return at::linear(x, w, bias);
  const auto y =
      counted_conv(x.reshape_symint({-1, x.sym_size(-1), 1, 1}), w.unsqueeze(-1).unsqueeze(-1),
                   bias, Geometry{}, {method, products, key});
  auto sizes = x.sym_sizes().vec();
  sizes.back() = w.sym_size(0);
  // No view: what changes it in place then leaves the hooks of a backward pass where they are.
  return at::_unsafe_view_symint(y, sizes);
}

// The end of a layer's call in a trace.
class WatchedBackward final : public torch::autograd::Node {
 public:
  std::string name() const override { return "ApproximatedLayerBackward"; }

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    static const auto op = c10::Dispatcher::singleton()
                               .findSchemaOrThrow("approxtrain::_layer_reached", "")
                               .typed<at::Tensor(const at::Tensor&, const at::Tensor&)>();
    if (!gradients[0].defined()) return torch::autograd::variable_list(2);
    auto of_tick = op.call(gradients[0], key);
    return {std::move(gradients[0]), std::move(of_tick)};
  }

  at::Tensor key;
};

// Returns y. A backward pass through it calls approxtrain::_layer_reached, in a trace too. The
// gradient of `tick` [] is what that returns, so no compiler takes the call for idle.
at::Tensor layer_watched(const at::Tensor& y, const at::Tensor& tick, const at::Tensor& key) {
  if (!at::GradMode::is_enabled() || !y.requires_grad()) return y;
  const std::shared_ptr<WatchedBackward> node(new WatchedBackward(), torch::autograd::deleteNode);
  node->set_next_edges(torch::autograd::collect_next_edges(y, tick));
  node->key = own_key(key);
  // No view of y, so that what changes it in place finds this node.
  auto watched = y.variable_data();
  torch::autograd::set_history(watched, node);
  return watched;
}

// Counts the exact products of a call that computed y by PyTorch's own operator.
void layer_counted(const at::Tensor& y, const at::Tensor& key, int64_t macs_per_entry,
                   int64_t computed) {
  count_exact(LayerKey::of(key.item<int64_t>()).record,
              static_cast<double>(y.numel()) * static_cast<double>(macs_per_entry), computed);
}

at::Tensor layer_draw(const at::Tensor& key) { return key.clone(); }

at::Tensor layer_draw_shape(const at::Tensor& key) { return at::empty_like(key); }

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
  const std::vector<at::Tag> traced{at::Tag::pt2_compliant_tag};
  library.def(
      "layer_conv2d(Tensor x, Tensor w, Tensor? bias, int[] stride, int[] padding, int[] dilation, "
      "int groups, str method, int products, Tensor key) -> Tensor",
      &layer_conv2d, traced);
  library.def(
      "layer_linear(Tensor x, Tensor w, Tensor? bias, str method, int products, Tensor key) "
      "-> Tensor",
      &layer_linear, traced);
  library.def("layer_watched(Tensor y, Tensor tick, Tensor key) -> Tensor", &layer_watched, traced);
  library.def("_layer_draw(Tensor key) -> Tensor",
              {at::Tag::pt2_compliant_tag, at::Tag::cudagraph_unsafe});
  // The package has its kernel: it counts the backward pass that is running, once.
  library.def("_layer_reached(Tensor dy, Tensor key) -> Tensor",
              {at::Tag::pt2_compliant_tag, at::Tag::cudagraph_unsafe});
  library.def("_layer_counted(Tensor y, Tensor key, int macs_per_entry, int computed) -> ()",
              {at::Tag::pt2_compliant_tag, at::Tag::cudagraph_unsafe});
  library.def("method_facts(str method) -> int[]", &method_facts);
  library.def("new_layer(int seed, int layer, bool norm_follows) -> int", &new_layer);
  library.def("drop_layer(int number) -> ()", &drop_record);
  library.def("set_layer_rank(int number, int rank) -> ()", &set_layer_rank);
  library.def("count_exact(int number, float macs, int computed) -> ()", &count_exact);
  library.def("layer_key(int number, int step) -> int", &layer_key);
  library.def("layer_of_key(int key) -> (int, int)", &layer_of_key);
  library.def("layer_counts(int number) -> float[]", &layer_counts);
}

TORCH_LIBRARY_IMPL(approxtrain, CPU, library) {
  library.impl("_layer_draw", &layer_draw);
  library.impl("_layer_counted", &layer_counted);
}

TORCH_LIBRARY_IMPL(approxtrain, CUDA, library) { library.impl("_layer_counted", &layer_counted); }

TORCH_LIBRARY_IMPL(approxtrain, Meta, library) {
  library.impl("_layer_draw", &layer_draw_shape);
  library.impl("_layer_counted", [](const at::Tensor&, const at::Tensor&, int64_t, int64_t) {});
}

}  // namespace approx
