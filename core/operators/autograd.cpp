// The gradients of the operators, and the gradients of those.
#include <ATen/ATen.h>
#include <ATen/TensorSubclassLikeUtils.h>
#include <ATen/autocast_mode.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

#include <algorithm>
#include <utility>
#include <variant>

#include "core/nn/approximated_conv.h"
#include "core/nn/layer_products.h"
#include "core/operators/layer_records.h"
#include "core/operators/products.h"

namespace approx {
namespace {

using torch::autograd::SavedVariable;
using torch::autograd::variable_list;

template <typename NodeType>
std::shared_ptr<NodeType> make_node() {
  return {new NodeType(), torch::autograd::deleteNode};
}

bool records(std::initializer_list<at::Tensor> inputs) {
  return at::GradMode::is_enabled() && std::ranges::any_of(inputs, [](const at::Tensor& tensor) {
           return tensor.defined() && tensor.requires_grad();
         });
}

SavedVariable saved(const at::Tensor& tensor) { return {tensor, /*is_output=*/false}; }

// Where transforms are nested, a tensor may be dual below the level at which the public operator
// looked.
void refuse_dual(std::initializer_list<at::Tensor> inputs) {
  for (const auto& tensor : inputs) {
    TORCH_CHECK(
        !tensor.defined() || !tensor._fw_grad(0).defined(),
        "approxtrain: has no derivative in forward mode: differentiate by torch.func.grad or "
        "jacrev, not by jvp, jacfwd or hessian");
  }
}

// Batches of PyTorch's older kind, which `is_grads_batched` makes, loop over no operator that
// returns a list.
void refuse_batched(const at::Tensor& dy) {
  TORCH_CHECK(!dy.unsafeGetTensorImpl()->key_set().has(at::DispatchKey::Batched),
              "an approximated gradient is of one upstream gradient at a time: call backward "
              "without is_grads_batched or vectorize, or use torch.func.vmap");
}

// As a layer says it outside of traces.
constexpr const char* kNoSecond =
    "an approximated gradient has no gradient of its own: call backward without create_graph";

// The choice of some channels of x as a node, so that a second derivative by those channels finds
// its way to x.
class TakenChannelsBackward final : public torch::autograd::Node {
 public:
  std::string name() const override { return "TakenChannelsBackward"; }

  variable_list apply(variable_list&& gradients) override {
    if (!gradients[0].defined()) return variable_list(1);
    return {at::zeros_symint(sizes, gradients[0].options()).index_add(1, index, gradients[0])};
  }

  at::Tensor index;
  std::vector<c10::SymInt> sizes;  // of x
};

// The backward pass of approxtrain::_conv2d.
class ProductsBackward final : public torch::autograd::Node {
 public:
  std::string name() const override { return "ApproximatedConvBackward"; }

  variable_list apply(variable_list&& gradients) override {
    variable_list result(3);
    const auto& dy = gradients[0];
    if (!dy.defined()) return result;
    refuse_batched(dy);
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const GradientsAsked asked{
        .data = task_should_compute_output(0),
        .weight = task_should_compute_output(1) && !call.known->freezes_weight,
        .bias = task_should_compute_output(2)};
    const auto kept = x.unpack(), weight = w.unpack();
    const bool direct = !seed_tensor.defined() && !at::GradMode::is_enabled() &&
                        !at::areAnyTensorSubclassLike({dy, kept, weight});
    if (direct) {
      std::ranges::move(of_numbers(dy, kept, weight, asked), result.begin());
      return result;
    }
    const std::array<bool, 3> mask{asked.data, asked.weight, asked.bias};
    auto computed = call_conv2d_backward({.dy = dy,
                                          .x = with_history(kept),
                                          .w = weight,
                                          .seed = seed_of_operator(),
                                          .sample = sample_of_operator()},
                                         input_sizes, call, mask);
    size_t next = 0;
    for (size_t i = 0; i < mask.size(); ++i) {
      if (mask[i]) result[i] = std::move(computed[next++]);
    }
    return result;
  }

  void release_variables() override {
    x.reset_data();
    w.reset_data();
  }

  SavedVariable x, w;  // x: as `kept` of ForwardProduct, if the gradients read it
  bool is_part_of_x = false;
  ConvCall call;
  std::vector<c10::SymInt> input_sizes;
  // For tensors that hold numbers:
  int64_t seed = 0;
  std::optional<Plan> forward;
  // For others, the arguments of the operator:
  at::Tensor seed_tensor;
  std::vector<at::Tensor> sample;

 private:
  std::array<at::Tensor, 3> of_numbers(const at::Tensor& dy, const at::Tensor& kept,
                                       const at::Tensor& weight, GradientsAsked asked) const {
    const auto slot = draws_of(seed, /*is_key=*/false).slot_of(*call.known);
    const auto* sole = sole_planner(slot, asked);
    const bool ours = dy.use_count() == 1 && dy.storage().use_count() == 1 && !dy.is_neg();
    return gradient_products(
        slot, {.operands = {.x = kept,
                            .w = weight,
                            .dy = without_minus(dy),
                            .geometry = call.geometry,
                            .product = Product::kDataGradient,
                            .input_sizes = C10_AS_INTARRAYREF_SLOW(input_sizes).vec()},
               .layer = 0,
               .forward = forward ? &*forward : nullptr,
               .may_overwrite = ours && sole != nullptr && sole->looks_at_dy_alone(),
               .asked = asked});
  }

  at::Tensor seed_of_operator() const {
    return seed_tensor.defined() ? seed_tensor : at::scalar_tensor(seed, at::kLong);
  }

  std::vector<at::Tensor> sample_of_operator() const {
    const auto* sampled = forward ? std::get_if<Sampled>(&*forward) : nullptr;
    if (sampled == nullptr || !call.known->samples_once) return sample;
    if (!sampled->scale.defined()) return {sampled->index};
    return {sampled->index, sampled->scale};
  }

  at::Tensor with_history(const at::Tensor& kept) const {
    if (!is_part_of_x || !kept.defined() || !at::GradMode::is_enabled() ||
        !next_edge(0).is_valid()) {
      return kept;
    }
    const auto node = make_node<TakenChannelsBackward>();
    node->set_next_edges({next_edge(0)});
    node->index = sample_of_operator().front();
    node->sizes = input_sizes;
    const auto part = kept.detach();
    torch::autograd::set_history(part, node);
    return part;
  }
};

// The backward pass of approxtrain::_conv2d_backward. With A and B the factors of the entries of dY
// for the data and the weight gradient and D those of the input channels, all constant:
//   dx = D convolution_transposed(A dy, w)     dw = D convolution_weight(B dy, x)
// so that, for gradients gx, gw and gb of dx, dw and db:
//   of dy  A conv(D gx, w) + B conv(x, D gw) + gb
//   of w   convolution_weight(A dy, D gx)
//   of x   convolution_transposed(B dy, D gw)
class SecondBackward final : public torch::autograd::Node {
 public:
  std::string name() const override { return "ApproximatedConvBackwardBackward"; }

  variable_list apply(variable_list&& gradients) override {
    std::array<at::Tensor, 3> given;
    size_t next = 0;
    for (size_t i = 0; i < asked.size(); ++i) {
      if (asked[i]) given[i] = gradients[next++];
    }
    auto& [gx, gw, gb] = given;
    variable_list result(3);
    const at::Tensor upstream = dy.unpack();
    if (gb.defined()) result[0] = gb.view({1, -1, 1, 1}).expand_as(upstream);
    if (!gx.defined() && !gw.defined()) return result;
    refuse_batched(gx.defined() ? gx : gw);
    const auto& known = *call.known;
    TORCH_CHECK(known.has_second_derivative, known.text,
                " has no second derivative: its gradients are not linear in dY once it has chosen; "
                "differentiate them once only");
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    const at::Tensor input = x.unpack(), weight = w.unpack();
    const auto factors = call_conv2d_factors({.dy = upstream.detach(),
                                              .x = input.defined() ? input.detach() : input,
                                              .w = weight.detach(),
                                              .seed = seed,
                                              .sample = sample},
                                             input_sizes, call);
    const auto& of_channels = factors[2];
    if (gx.defined()) {
      gx = gx * of_channels.view({1, -1, 1, 1});
      add(result[0], factors[0] * conv(gx, weight));
      if (task_should_compute_output(2)) {
        result[2] = backward(factors[0] * upstream, gx, weight, {false, true, false})[1];
      }
    }
    if (gw.defined() && input.defined()) {
      gw = taken(gw, of_channels, input.sym_size(1));
      add(result[0], factors[1] * conv(input, gw));
      if (task_should_compute_output(1)) {
        result[1] = backward(factors[1] * upstream, input, gw, {true, false, false})[0];
      }
    }
    return result;
  }

  void release_variables() override {
    dy.reset_data();
    x.reset_data();
    w.reset_data();
  }

  SavedVariable dy, x, w;
  at::Tensor seed;
  std::vector<at::Tensor> sample;
  std::vector<c10::SymInt> input_sizes;
  ConvCall call;
  std::array<bool, 3> asked{};

 private:
  static void add(at::Tensor& sum, const at::Tensor& term) {
    sum = sum.defined() ? sum + term : term;
  }

  // The weights times the factors of their input channels; of the channels alone that x has.
  at::Tensor taken(const at::Tensor& gw, const at::Tensor& of_channels,
                   const c10::SymInt& x_channels) const {
    const auto groups = call.geometry.groups;
    if (x_channels != input_sizes[1]) {
      const auto part = gw.index_select(1, sample[0]);
      return sample.size() > 1 ? part * sample[1].to(part.scalar_type()).view({1, -1, 1, 1}) : part;
    }
    const auto each = of_channels.view({groups, 1, -1});  // [groups, Co/groups, Ci/groups]
    const auto of_weights = each.expand_symint({groups, gw.sym_size(0) / groups, gw.sym_size(1)});
    return gw * of_weights.reshape_symint({gw.sym_size(0), gw.sym_size(1), 1, 1});
  }

  at::Tensor conv(const at::Tensor& input, const at::Tensor& weight) const {
    const auto& g = call.geometry;
    return at::conv2d(input, weight, {}, g.stride.both(), g.padding.both(), g.dilation.both(),
                      g.groups);
  }

  std::array<at::Tensor, 2> backward(const at::Tensor& gradient, const at::Tensor& input,
                                     const at::Tensor& weight, std::array<bool, 3> mask) const {
    const auto& g = call.geometry;
    auto [of_input, of_weight, of_bias] = at::convolution_backward(
        gradient, input, weight, at::OptionalIntArrayRef(), g.stride.both(), g.padding.both(),
        g.dilation.both(), /*transposed=*/false, /*output_padding=*/{0, 0}, g.groups, mask);
    return {of_input, of_weight};
  }
};

// Whether the operator of the backward pass could not be given this plan of the forward product,
// and would have to make it again from x.
bool hides_plan(const std::optional<Plan>& plan) {
  return plan && !std::holds_alternative<Dense>(*plan) && !std::holds_alternative<Sampled>(*plan);
}

std::vector<at::Tensor> conv2d_recorded(const at::Tensor& x, const at::Tensor& w,
                                        const std::optional<at::Tensor>& optional_bias,
                                        const at::Tensor& seed, at::IntArrayRef stride,
                                        at::IntArrayRef padding, at::IntArrayRef dilation,
                                        int64_t groups, c10::string_view method, int64_t products,
                                        int64_t computed) {
  const auto bias = optional_bias.value_or(at::Tensor());
  refuse_dual({x, w, bias});
  const auto call = conv_call(stride, padding, dilation, groups, method, products, computed);
  std::vector<at::Tensor> result;
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    result = call_conv2d(x, w, bias, seed, call);
  }
  if (!records({x, w, bias})) return result;
  const auto node = make_node<ProductsBackward>();
  node->set_next_edges(torch::autograd::collect_next_edges(x, w, bias));
  const auto sample_end = result.end() - (result.size() > 1 && groups == 1 ? 1 : 0);
  node->sample.assign(result.begin() + 1, sample_end);
  node->is_part_of_x = sample_end != result.end();
  const bool reads_x = w.requires_grad() && needs_input(call.known->slot);
  if (reads_x || call.known->plans_again()) {
    node->x = saved(node->is_part_of_x ? result.back() : x);
  }
  node->w = saved(w);
  node->seed_tensor = seed;
  node->call = call;
  node->input_sizes = x.sym_sizes().vec();
  torch::autograd::set_history(result[0], node);
  return result;
}

std::vector<at::Tensor> conv2d_backward_recorded(
    const at::Tensor& dy, const std::optional<at::Tensor>& optional_x, const at::Tensor& w,
    const at::Tensor& seed, at::TensorList sample, c10::SymIntArrayRef input_sizes,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, int64_t groups,
    c10::string_view method, std::array<bool, 3> asked, int64_t products) {
  const auto x = optional_x.value_or(at::Tensor());
  refuse_dual({dy, x, w});
  const auto call = conv_call(stride, padding, dilation, groups, method, products);
  std::vector<at::Tensor> result;
  {
    const at::AutoDispatchBelowADInplaceOrView below;
    result = call_conv2d_backward({dy, x, w, seed, sample.vec()}, input_sizes, call, asked);
  }
  if (result.empty() || !records({dy, x, w})) return result;
  TORCH_CHECK(!call.is_of_layer(), kNoSecond);
  const auto node = make_node<SecondBackward>();
  node->set_next_edges(torch::autograd::collect_next_edges(dy, x, w));
  node->dy = saved(dy);
  node->x = saved(x);
  node->w = saved(w);
  node->seed = seed;
  node->sample = sample.vec();
  node->input_sizes = input_sizes.vec();
  node->call = call;
  node->asked = asked;
  torch::autograd::set_history(result, node);
  return result;
}

std::vector<at::Tensor> conv2d_factors_unrecorded(
    const at::Tensor& dy, const std::optional<at::Tensor>& x, const at::Tensor& w,
    const at::Tensor& seed, at::TensorList sample, c10::SymIntArrayRef input_sizes,
    at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation, int64_t groups,
    c10::string_view method) {
  const auto call = conv_call(stride, padding, dilation, groups, method);
  const at::AutoDispatchBelowADInplaceOrView below;
  return call_conv2d_factors({dy, x.value_or(at::Tensor()), w, seed, sample.vec()}, input_sizes,
                             call);
}

at::Tensor prune_unrecorded(const at::Tensor& dy, const at::Tensor& seed, c10::string_view method) {
  const at::AutoDispatchBelowADInplaceOrView below;
  return call_prune(dy, seed, *find_method(method));
}

}  // namespace

at::Tensor conv2d_of_numbers(const at::Tensor& x, const at::Tensor& w, const at::Tensor& bias,
                             const ConvCall& call, int64_t seed) {
  const auto slot = draws_of(seed, /*is_key=*/false).slot_of(*call.known);
  auto forward = forward_product(x, w, bias, call.geometry, slot, /*layer=*/0);
  if (!records({x, w, bias})) return forward.y;
  const auto node = make_node<ProductsBackward>();
  node->set_next_edges(torch::autograd::collect_next_edges(x, w, bias));
  node->is_part_of_x = !forward.kept.is_same(x);
  if ((w.requires_grad() && needs_input(slot)) || hides_plan(forward.plan)) {
    node->x = saved(forward.kept);
  }
  node->w = saved(w);
  node->forward = std::move(forward.plan);
  node->seed = seed;
  node->call = call;
  node->input_sizes = x.sym_sizes().vec();
  torch::autograd::set_history(forward.y, node);
  return forward.y;
}

TORCH_LIBRARY_IMPL(approxtrain, Autograd, library) {
  library.impl("_conv2d", &conv2d_recorded);
  library.impl("_conv2d_backward", &conv2d_backward_recorded);
  library.impl("_conv2d_factors", &conv2d_factors_unrecorded);
  library.impl("_prune", &prune_unrecorded);
}

}  // namespace approx
