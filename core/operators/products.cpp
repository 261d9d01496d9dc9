#include "core/operators/products.h"

#include <ATen/ATen.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/grad_mode.h>
#include <torch/library.h>

#include <utility>
#include <variant>

#include "core/nn/layer_products.h"
#include "core/operators/layer_records.h"
#include "kernels/kernel.h"
#include "kernels/library.h"

namespace approx {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

using Sizes = at::IntArrayRef;
using OptionalTensor = std::optional<at::Tensor>;
using Tensors = std::vector<at::Tensor>;

using ConvSignature = Tensors(const at::Tensor&, const at::Tensor&, const OptionalTensor&,
                              const at::Tensor&, Sizes, Sizes, Sizes, int64_t, c10::string_view,
                              int64_t, int64_t);
using BackwardSignature = Tensors(const at::Tensor&, const OptionalTensor&, const at::Tensor&,
                                  const at::Tensor&, at::TensorList, c10::SymIntArrayRef, Sizes,
                                  Sizes, Sizes, int64_t, c10::string_view, std::array<bool, 3>,
                                  int64_t);
using FactorsSignature = Tensors(const at::Tensor&, const OptionalTensor&, const at::Tensor&,
                                 const at::Tensor&, at::TensorList, c10::SymIntArrayRef, Sizes,
                                 Sizes, Sizes, int64_t, c10::string_view);
using PruneSignature = at::Tensor(const at::Tensor&, const at::Tensor&, c10::string_view);

template <typename Signature>
auto operator_named(const char* name) {
  return c10::Dispatcher::singleton().findSchemaOrThrow(name, "").typed<Signature>();
}

OptionalTensor if_defined(const at::Tensor& tensor) {
  return tensor.defined() ? OptionalTensor(tensor) : std::nullopt;
}

at::MemoryFormat common_format(const at::Tensor& a, const at::Tensor& b) {
  const bool last = a.suggest_memory_format() == kLast || b.suggest_memory_format() == kLast;
  return last ? kLast : at::MemoryFormat::Contiguous;
}

uint64_t value_of(const at::Tensor& seed) { return static_cast<uint64_t>(seed.item<int64_t>()); }

Draws draws_for(const at::Tensor& seed, const ConvCall& call) {
  return draws_of(seed.item<int64_t>(), call.is_of_layer());
}

void open_kernels_of(const at::Tensor& tensor) {
  if (tensor.is_cuda()) {
    [[maybe_unused]] static const bool opened = open_cuda_kernels();
  }
}

Plan plan_of(at::TensorList sample) {
  return Sampled{.axis = Axis::kInputChannels,
                 .index = sample[0],
                 .scale = sample.size() > 1 ? sample[1] : at::Tensor()};
}

// --- approxtrain::_conv2d ---

Tensors conv2d_numbers(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& bias,
                       const at::Tensor& seed, Sizes stride, Sizes padding, Sizes dilation,
                       int64_t groups, c10::string_view method, int64_t products,
                       int64_t computed) {
  open_kernels_of(x);
  const auto call = conv_call(stride, padding, dilation, groups, method, products, computed);
  const auto& known = call.known;
  const auto draws = draws_for(seed, call);
  const auto slot = draws.slot_of(*known);
  const auto forward =
      forward_product(x, w, bias.value_or(at::Tensor()), call.geometry, slot, draws.layer());
  if (draws.record) {
    draws.record->count(macs_of(forward.y, w), computed, slot);
    // A frozen weight has no gradient whose computation could be counted.
    constexpr auto kWeight = Product::kWeightGradient;
    if (known->freezes_weight && (computed & bit(kWeight)) != 0) ++slot.counts.of(kWeight)->calls;
  }
  Tensors result{laid_out_like(forward.y, x, w)};
  if (!known->has_fixed_sample || std::holds_alternative<Dense>(*forward.plan)) return result;
  const auto* sampled = std::get_if<Sampled>(&*forward.plan);
  TORCH_CHECK(sampled != nullptr && sampled->axis == Axis::kInputChannels,
              "approxtrain::conv2d: ", known->text,
              " keeps a sample that cannot be traced; call it outside torch.compile");
  result.push_back(sampled->index);
  if (sampled->scale.defined()) result.push_back(sampled->scale);
  if (groups == 1) result.push_back(forward.kept.contiguous(kLast));
  return result;
}

Tensors conv2d_shapes(const at::Tensor& x, const at::Tensor& w, const OptionalTensor& /*bias*/,
                      const at::Tensor& /*seed*/, Sizes stride, Sizes padding, Sizes dilation,
                      int64_t groups, c10::string_view method, int64_t products,
                      int64_t /*computed*/) {
  const auto known = conv_call(stride, padding, dilation, groups, method, products).known;
  std::vector<c10::SymInt> sizes{x.sym_size(0), w.sym_size(0)};
  for (size_t d = 0; d < 2; ++d) {
    const auto dim = static_cast<int64_t>(d) + 2;
    const auto of = [d](Sizes values) { return d == 0 ? values.front() : values.back(); };
    sizes.push_back((x.sym_size(dim) + 2 * of(padding) - (w.sym_size(dim) - 1) * of(dilation) - 1) /
                        of(stride) +
                    1);
  }
  Tensors result{at::empty_symint(sizes, x.options(), common_format(x, w))};
  if (!known->has_fixed_sample) return result;
  const auto sample = known->shape_of_sample(x.sym_size(1).guard_int(__FILE__, __LINE__), groups);
  if (!sample) return result;
  const int64_t k = sample->index.numel();
  result.push_back(at::empty({k}, x.options().dtype(at::kLong)));
  if (sample->scale.defined()) result.push_back(at::empty({k}, x.options().dtype(at::kFloat)));
  if (groups == 1) {
    result.push_back(
        at::empty_symint({x.sym_size(0), k, x.sym_size(2), x.sym_size(3)}, x.options(), kLast));
  }
  return result;
}

// --- approxtrain::_conv2d_backward ---

// A backward pass as the kernels are asked for it.
struct Backward {
  Known known;
  Draws draws;
  LayerSlot slot;
  std::optional<Plan> forward;
  Operands operands;

  Backward(const at::Tensor& dy, const OptionalTensor& x, const at::Tensor& w,
           const at::Tensor& seed, at::TensorList sample, c10::SymIntArrayRef input_sizes,
           const ConvCall& call)
      : known(call.known),
        draws(draws_for(seed, call)),
        slot(draws.slot_of(*known)),
        operands{.x = x.value_or(at::Tensor()),
                 .w = w,
                 .dy = dy,
                 .geometry = call.geometry,
                 .product = Product::kDataGradient,
                 .input_sizes = C10_AS_INTARRAYREF_SLOW(input_sizes).vec()} {
    open_kernels_of(dy);
    if (!sample.empty()) {
      forward = plan_of(sample);
    } else if (known->has_fixed_sample || (known->plans_again() && !operands.x.defined())) {
      forward = Dense{};
    } else if (known->plans_again()) {
      forward = forward_plan(operands.x, w, call.geometry, slot, draws.layer());
      if (known->samples_once) operands.x = sampled_input(operands.x, *forward, call.geometry);
    }
  }
  const Plan* plan() const { return forward ? &*forward : nullptr; }
};

Tensors conv2d_backward_numbers(const at::Tensor& dy, const OptionalTensor& x, const at::Tensor& w,
                                const at::Tensor& seed, at::TensorList sample,
                                c10::SymIntArrayRef input_sizes, Sizes stride, Sizes padding,
                                Sizes dilation, int64_t groups, c10::string_view method,
                                std::array<bool, 3> asked, int64_t products) {
  const Backward backward(dy, x, w, seed, sample, input_sizes,
                          conv_call(stride, padding, dilation, groups, method, products));
  TORCH_CHECK(!asked[1] || !backward.known->freezes_weight,
              "approxtrain::_conv2d_backward: ", backward.known->text, " has no weight gradient");
  const auto computed = gradient_products(
      backward.slot, {.operands = backward.operands,
                      .layer = backward.draws.layer(),
                      .forward = backward.plan(),
                      .asked = {.data = asked[0], .weight = asked[1], .bias = asked[2]}});
  Tensors result;
  if (asked[0]) result.push_back(computed[0].contiguous(common_format(dy, w)));
  if (asked[1]) result.push_back(computed[1].contiguous(w.suggest_memory_format()));
  if (asked[2]) result.push_back(computed[2]);
  return result;
}

Tensors conv2d_backward_shapes(const at::Tensor& dy, const OptionalTensor& /*x*/,
                               const at::Tensor& w, const at::Tensor& /*seed*/,
                               at::TensorList /*sample*/, c10::SymIntArrayRef input_sizes,
                               Sizes /*stride*/, Sizes /*padding*/, Sizes /*dilation*/,
                               int64_t /*groups*/, c10::string_view /*method*/,
                               std::array<bool, 3> asked, int64_t /*products*/) {
  Tensors result;
  if (asked[0]) {
    result.push_back(at::empty_symint(input_sizes, dy.options(), common_format(dy, w)));
  }
  if (asked[1]) {
    result.push_back(at::empty_symint(w.sym_sizes(), dy.options(), w.suggest_memory_format()));
  }
  if (asked[2]) result.push_back(at::empty_symint({w.sym_size(0)}, dy.options()));
  return result;
}

// --- approxtrain::_conv2d_factors ---

// [length] with the factors of a sample at its indices, 0 elsewhere.
at::Tensor factors_along(const Sampled& sampled, int64_t length, const at::Tensor& like) {
  const auto scale =
      sampled.scale.defined() ? sampled.scale : at::ones(sampled.index.sizes(), at::kFloat);
  return at::zeros({length}, like.options()).index_copy(0, sampled.index, scale.to(like.options()));
}

// The factor of every entry of dy under a plan.
at::Tensor factors_of_entries(const Plan& plan, const at::Tensor& dy) {
  if (std::holds_alternative<Skip>(plan) || std::holds_alternative<Gaussian>(plan)) {
    return at::zeros(dy.sizes(), dy.options());
  }
  if (const auto* sampled = std::get_if<Sampled>(&plan);
      sampled != nullptr && sampled->axis == Axis::kExamples) {
    return factors_along(*sampled, dy.size(0), dy).view({-1, 1, 1, 1}).expand_as(dy).contiguous();
  }
  const auto used = used_gradient(plan, dy);
  if (used.is_same(dy)) return at::ones(dy.sizes(), dy.options());
  const auto type = dy.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
  const auto given = dy.to(type);
  return at::where(given == 0, 0, used.to(type) / given).to(dy.scalar_type()).contiguous();
}

Tensors conv2d_factors_numbers(const at::Tensor& dy, const OptionalTensor& x, const at::Tensor& w,
                               const at::Tensor& seed, at::TensorList sample,
                               c10::SymIntArrayRef input_sizes, Sizes stride, Sizes padding,
                               Sizes dilation, int64_t groups, c10::string_view method) {
  const at::NoGradGuard no_grad;
  Backward backward(dy, x, w, seed, sample, input_sizes,
                    conv_call(stride, padding, dilation, groups, method));
  auto& operands = backward.operands;
  Tensors result;
  auto of_channels = at::ones({operands.input_sizes[1]}, dy.options());
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    operands.product = product;
    auto* planner = backward.slot.orders.of(product);
    const Plan plan = planner == nullptr
                          ? Plan(Dense{})
                          : planner->plan(operands, gradient_call(backward.slot, /*layer=*/0,
                                                                  product, backward.plan()));
    const auto* sampled = std::get_if<Sampled>(&plan);
    if (sampled != nullptr && sampled->axis == Axis::kInputChannels) {
      of_channels = factors_along(*sampled, operands.input_sizes[1], dy);
      result.push_back(at::ones(dy.sizes(), dy.options()));
    } else {
      result.push_back(factors_of_entries(plan, dy));
    }
  }
  result.push_back(of_channels);
  return result;
}

Tensors conv2d_factors_shapes(const at::Tensor& dy, const OptionalTensor& /*x*/,
                              const at::Tensor& /*w*/, const at::Tensor& /*seed*/,
                              at::TensorList /*sample*/, c10::SymIntArrayRef input_sizes,
                              Sizes /*stride*/, Sizes /*padding*/, Sizes /*dilation*/,
                              int64_t /*groups*/, c10::string_view /*method*/) {
  const auto of_entries = [&dy] { return at::empty_symint(dy.sym_sizes(), dy.options()); };
  return {of_entries(), of_entries(), at::empty_symint({input_sizes[1]}, dy.options())};
}

// --- approxtrain::_prune ---

at::Tensor prune_numbers(const at::Tensor& dy, const at::Tensor& seed, c10::string_view method) {
  open_kernels_of(dy);
  const auto pruned = prune_by(dy, *find_method(method), value_of(seed));
  auto result = at::empty_like(dy);
  return pruned.strides() == result.strides() ? pruned : result.copy_(pruned);
}

at::Tensor prune_shapes(const at::Tensor& dy, const at::Tensor& /*seed*/,
                        c10::string_view /*method*/) {
  return at::empty_like(dy);
}

}  // namespace

Geometry geometry_of(Sizes stride, Sizes padding, Sizes dilation, int64_t groups) {
  const auto both = [](Sizes sizes) { return Spatial(sizes.front(), sizes.back()); };
  return {both(stride), both(padding), both(dilation), groups};
}

ConvCall conv_call(Sizes stride, Sizes padding, Sizes dilation, int64_t groups,
                   c10::string_view method, int64_t products, int64_t computed) {
  auto known = find_method(method);
  if (products != 0) known = restricted(known, products);
  return {std::move(known), geometry_of(stride, padding, dilation, groups), products, computed};
}

double macs_of(const at::Tensor& y, const at::Tensor& w) {
  return static_cast<double>(y.numel()) * static_cast<double>(w.numel() / w.size(0));
}

at::Tensor laid_out_like(const at::Tensor& y, const at::Tensor& x, const at::Tensor& w) {
  return y.contiguous(common_format(x, w));
}

std::vector<at::Tensor> call_conv2d(const at::Tensor& x, const at::Tensor& w,
                                    const at::Tensor& bias, const at::Tensor& seed,
                                    const ConvCall& call) {
  static const auto op = operator_named<ConvSignature>("approxtrain::_conv2d");
  const auto& g = call.geometry;
  return op.call(x, w, if_defined(bias), seed, g.stride.both(), g.padding.both(), g.dilation.both(),
                 g.groups, call.known->text, call.products, call.computed);
}

std::vector<at::Tensor> call_conv2d_backward(const BackwardTensors& t,
                                             c10::SymIntArrayRef input_sizes, const ConvCall& call,
                                             std::array<bool, 3> asked) {
  static const auto op = operator_named<BackwardSignature>("approxtrain::_conv2d_backward");
  const auto& g = call.geometry;
  return op.call(t.dy, if_defined(t.x), t.w, t.seed, t.sample, input_sizes, g.stride.both(),
                 g.padding.both(), g.dilation.both(), g.groups, call.known->text, asked,
                 call.products);
}

std::vector<at::Tensor> call_conv2d_factors(const BackwardTensors& t,
                                            c10::SymIntArrayRef input_sizes, const ConvCall& call) {
  static const auto op = operator_named<FactorsSignature>("approxtrain::_conv2d_factors");
  const auto& g = call.geometry;
  return op.call(t.dy, if_defined(t.x), t.w, t.seed, t.sample, input_sizes, g.stride.both(),
                 g.padding.both(), g.dilation.both(), g.groups, call.known->text);
}

at::Tensor call_prune(const at::Tensor& dy, const at::Tensor& seed, const KnownMethod& known) {
  static const auto op = operator_named<PruneSignature>("approxtrain::_prune");
  return op.call(dy, seed, known.text);
}

at::Tensor prune_by(const at::Tensor& dy, const KnownMethod& known, uint64_t seed) {
  Operands o;
  o.dy = dy.dim() == 4 ? dy : dy.unsqueeze(-1).unsqueeze(-1);
  o.product = known.products.front();
  const MethodCall call{.rng = {.seed = seed, .product = o.product},
                        .norm_follows = known.slot.orders.norm_follows};
  auto pruned = used_gradient(known.method->plan(o, call), o.dy);
  // Where dY is used as it is, the method may still prune what is computed from it.
  if (pruned.is_same(o.dy)) pruned = known.method->finish(o, o.dy.clone(), call).result;
  TORCH_CHECK_VALUE(pruned.defined(), "approxtrain::prune: ", known.text,
                    " does not prune a gradient");
  return pruned.is_same(o.dy) ? dy.clone() : pruned.reshape(dy.sizes());
}

TORCH_LIBRARY_IMPL(approxtrain, CPU, library) {
  library.impl("_conv2d", &conv2d_numbers);
  library.impl("_conv2d_backward", &conv2d_backward_numbers);
  library.impl("_conv2d_factors", &conv2d_factors_numbers);
  library.impl("_prune", &prune_numbers);
}

TORCH_LIBRARY_IMPL(approxtrain, CUDA, library) {
  library.impl("_conv2d", &conv2d_numbers);
  library.impl("_conv2d_backward", &conv2d_backward_numbers);
  library.impl("_conv2d_factors", &conv2d_factors_numbers);
  library.impl("_prune", &prune_numbers);
}

TORCH_LIBRARY_IMPL(approxtrain, Meta, library) {
  library.impl("_conv2d", &conv2d_shapes);
  library.impl("_conv2d_backward", &conv2d_backward_shapes);
  library.impl("_conv2d_factors", &conv2d_factors_shapes);
  library.impl("_prune", &prune_shapes);
}

}  // namespace approx
