// The exact products by LibTorch's own convolutions: on any device, in any precision.
#include <ATen/TensorIndexing.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include "kernels/dense/cudnn.h"
#include "kernels/dense/forward.h"
#include "kernels/kernel.h"
#include "kernels/operands.h"
#include "kernels/plan.h"
#include "kernels/variant.h"

namespace approx {
namespace {

// oneDNN's weight gradient of a 1x1 convolution with a stride writes past a workspace where a
// channels-last x has fewer channels than a vector: wrong numbers, or it never returns
// (uxlfoundation/oneDNN#6035). Without a stride, on every stride-th pixel, it is right.
bool meets_the_workspace_bug(const Operands& o) {
  constexpr int64_t kWidest = 16;  // floats of the widest vector
  const auto& g = o.geometry;
  return o.x.is_cpu() && o.w.size(2) == 1 && o.w.size(3) == 1 &&
         (g.stride.h > 1 || g.stride.w > 1) && g.padding == Spatial(0) && o.w.size(1) < kWidest;
}

Operands on_every_stride_th_pixel(const Operands& o) {
  Operands unit = o;
  const auto taken = [&](int64_t d, int64_t stride) {
    return at::indexing::Slice(0, (o.dy.size(d) - 1) * stride + 1, stride);
  };
  unit.x = o.x.index({at::indexing::Slice(), at::indexing::Slice(), taken(2, o.geometry.stride.h),
                      taken(3, o.geometry.stride.w)})
               .contiguous(at::MemoryFormat::ChannelsLast);
  unit.geometry.stride = 1;
  unit.input_sizes = unit.x.sizes().vec();
  return unit;
}

// In 16 bits on a CPU oneDNN's convolutions (in LibTorch 2.11) read and write past their operands
// where a row is shorter than the stride along it, with padding: the forward product can crash, and
// the weight gradient has numbers that nobody wrote. In float they are right.
bool steps_over_rows(at::ScalarType type, int64_t columns, const Geometry& g) {
  return (type == at::kBFloat16 || type == at::kHalf) && columns < g.stride.w;
}

bool steps_over_rows(const Operands& o) {
  return o.w.is_cpu() && steps_over_rows(o.w.scalar_type(), o.input_sizes[3], o.geometry);
}

Operands in_float(const Operands& o) {
  Operands floats = o;
  for (auto* tensor : {&floats.x, &floats.w, &floats.dy}) {
    if (tensor->defined()) *tensor = tensor->to(at::kFloat);
  }
  return floats;
}

at::Tensor rounded(const at::Tensor& tensor, const Operands& like) {
  return tensor.defined() ? tensor.to(like.w.scalar_type()) : tensor;
}

// Either gradient may be left out (undefined).
std::pair<at::Tensor, at::Tensor> libtorch_gradients(const Operands& o, bool data, bool weight) {
  const auto& g = o.geometry;
  if (steps_over_rows(o)) {
    const auto [dx, dw] = libtorch_gradients(in_float(o), data, weight);
    return {rounded(dx, o), rounded(dw, o)};
  }
  if (weight && meets_the_workspace_bug(o)) {
    return {data ? libtorch_gradients(o, true, false).first : at::Tensor(),
            libtorch_gradients(on_every_stride_th_pixel(o), false, true).second};
  }
  const auto stride = g.stride.both(), padding = g.padding.both(), dilation = g.dilation.both();
  if (data && !weight && !(o.x.defined() && o.x.sizes() == o.input_sizes)) {
    // The transposed convolution is the same product (and as fast: docs/history/first-results.md)
    // and needs nothing of x but its sizes, which the output padding restores where the stride does
    // not divide them.
    std::array<int64_t, 2> output_padding{};
    for (size_t d = 0; d < 2; ++d) {
      const auto dim = static_cast<int64_t>(d) + 2;
      const int64_t reached =
          (o.dy.size(dim) - 1) * stride[d] - 2 * padding[d] + dilation[d] * (o.w.size(dim) - 1) + 1;
      output_padding[d] = o.input_sizes[d + 2] - reached;
    }
    return {at::convolution(o.dy, o.w, {}, stride, padding, dilation, /*transposed=*/true,
                            output_padding, g.groups),
            at::Tensor()};
  }
  auto [dx, dw, db] =
      at::convolution_backward(o.dy, o.x, o.w, c10::nullopt, stride, padding, dilation,
                               /*transposed=*/false, {0, 0}, g.groups, {data, weight, false});
  return {dx, dw};
}

// Of one input channel whose strides are those of channels last LibTorch's convolution (2.11) can
// return numbers that nobody wrote, where windows move by one row and several columns.
bool is_read_wrongly(const Operands& o) {
  return o.x.is_cpu() && o.x.size(1) == 1 && o.geometry.stride.h != o.geometry.stride.w;
}

at::Tensor by_rows(const at::Tensor& map) { return map.squeeze(1).contiguous().unsqueeze(1); }

at::Tensor libtorch_product(const Dense& plan, const Operands& o) {
  const auto& g = o.geometry;
  if (steps_over_rows(o)) return rounded(libtorch_product(plan, in_float(o)), o);
  switch (o.product) {
    case Product::kForward: {
      const bool apart = is_read_wrongly(o);
      return at::convolution(apart ? by_rows(o.x) : o.x, apart ? by_rows(o.w) : o.w, {},
                             g.stride.both(), g.padding.both(), g.dilation.both(),
                             /*transposed=*/false, {0, 0}, g.groups);
    }
    case Product::kDataGradient:
      return libtorch_gradients(o, /*data=*/true, /*weight=*/false).first;
    case Product::kWeightGradient:
      return libtorch_gradients(o, /*data=*/false, /*weight=*/true).second;
  }
  return {};
}

// Whether a variant of ours is chosen for a product.
bool ours_pays(Problem problem, Product product) {
  problem.product = product;
  const auto* chosen = choose<Dense>(problem);
  return chosen != nullptr && chosen->tensors != &libtorch_product;
}

// On a GPU a layer leaves LibTorch's node for nothing else: no other exact variant has been
// measured there.
bool cudnn_engine_pays(Problem problem, Product product) {
  problem.product = product;
  const auto* chosen = choose<Dense>(problem);
  return chosen != nullptr && chosen->name == kCudnn;
}

REGISTER_KERNEL(Dense, std::string(kLibTorch), libtorch_product).rank(5);

}  // namespace

bool dense_pays(const at::Tensor& x, const at::Tensor& w, const Geometry& geometry,
                bool dy_may_hold_zeros, std::optional<at::ScalarType> type) {
  const auto computed = type.value_or(x.scalar_type());
  const bool bf16 = computed == at::kBFloat16 && x.is_cpu();
  if (!(x.is_cpu() || x.is_cuda()) || x.dim() != 4 || (computed != at::kFloat && !bf16)) {
    return false;
  }
  if (bf16 && steps_over_rows(computed, x.size(3), geometry)) return true;
  Problem problem = problem_of(Product::kForward, x.sizes(), w, geometry);
  if (bf16) problem.element = ElementType::kBFloat16;
  if (dy_may_hold_zeros) problem.density = 0;
  return std::any_of(kAllProducts.begin(), kAllProducts.end(), [&](Product product) {
    return x.is_cpu() ? ours_pays(problem, product) : cudnn_engine_pays(problem, product);
  });
}

at::Tensor dense_forward(const Operands& o, const at::Tensor& bias, LayerVariants* counts) {
  const auto& g = o.geometry;
  const bool half = o.w.scalar_type() == at::kBFloat16 || o.w.scalar_type() == at::kHalf;
  if (bias.defined() && half && o.x.is_cpu() && !steps_over_rows(o) &&
      !ours_pays(problem_of(o), Product::kForward)) {
    if (counts != nullptr) counts->of(Product::kForward).add(PlanTraits<Dense>::kName, kLibTorch);
    return at::convolution(o.x, o.w, bias, g.stride.both(), g.padding.both(), g.dilation.both(),
                           /*transposed=*/false, {0, 0}, g.groups);
  }
  auto y = run(Dense{}, o, {}, counts);
  if (bias.defined()) y.add_(bias.view({1, -1, 1, 1}));
  return y;
}

std::pair<at::Tensor, at::Tensor> dense_gradients(const Operands& o, bool data, bool weight,
                                                  LayerVariants* counts) {
  Problem problem = problem_of(o);
  problem.density = density_by_sample(o.dy);
  const bool data_is_ours = data && ours_pays(problem, Product::kDataGradient);
  const bool weight_is_ours = weight && ours_pays(problem, Product::kWeightGradient);
  std::pair<at::Tensor, at::Tensor> result;
  if ((data && !data_is_ours) || (weight && !weight_is_ours)) {
    result = libtorch_gradients(o, data && !data_is_ours, weight && !weight_is_ours);
    const auto count = [&](Product product) {
      if (counts != nullptr) counts->of(product).add(PlanTraits<Dense>::kName, kLibTorch);
    };
    if (data && !data_is_ours) count(Product::kDataGradient);
    if (weight && !weight_is_ours) count(Product::kWeightGradient);
  }
  Operands part = o;
  if (data_is_ours) {
    part.product = Product::kDataGradient;
    result.first = run(Dense{}, part, {}, counts);
  }
  if (weight_is_ours) {
    part.product = Product::kWeightGradient;
    result.second = run(Dense{}, part, {}, counts);
  }
  return result;
}

}  // namespace approx
