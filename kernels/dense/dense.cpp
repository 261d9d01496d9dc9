#include "kernels/dense/dense.h"

#include <ATen/TensorIndexing.h>
#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include "kernels/dense/matrix.h"
#include "kernels/dense/taps.h"
#include "kernels/kernel.h"

namespace approx {

namespace {

// oneDNN's weight gradient of a 1x1 convolution with a stride writes past a workspace where a
// channels-last x has fewer channels than a vector: wrong numbers, or it never returns
// (uxlfoundation/oneDNN#6035). Without a stride, on every stride-th pixel, it is right.
bool meets_the_workspace_bug(const Operands& o) {
  constexpr int64_t kWidest = 16;  // floats of the widest vector
  return o.x.is_cpu() && o.w.size(2) == 1 && o.w.size(3) == 1 && o.geometry.stride > 1 &&
         o.geometry.padding == 0 && o.w.size(1) < kWidest;
}

Operands on_every_stride_th_pixel(const Operands& o) {
  Operands unit = o;
  const auto taken = [&](int64_t d) {
    return at::indexing::Slice(0, (o.dy.size(d) - 1) * o.geometry.stride + 1, o.geometry.stride);
  };
  unit.x = o.x.index({at::indexing::Slice(), at::indexing::Slice(), taken(2), taken(3)})
               .contiguous(at::MemoryFormat::ChannelsLast);
  unit.geometry.stride = 1;
  unit.input_sizes = unit.x.sizes().vec();
  return unit;
}

// Whether dense_product() does not leave it to LibTorch's convolution.
bool own_product_pays(const Operands& o, Product product) {
  return matrix_pays(o) || taps_pay(o, product);
}

}  // namespace

std::pair<at::Tensor, at::Tensor> dense_gradients(const Operands& o, bool data, bool weight) {
  const bool data_is_ours = data && own_product_pays(o, Product::kDataGradient);
  const bool weight_is_ours = weight && own_product_pays(o, Product::kWeightGradient);
  std::pair<at::Tensor, at::Tensor> result;
  if ((data && !data_is_ours) || (weight && !weight_is_ours)) {
    result = libtorch_gradients(o, data && !data_is_ours, weight && !weight_is_ours);
  }
  Operands part = o;
  if (data_is_ours) {
    part.product = Product::kDataGradient;
    result.first = dense_product(part);
  }
  if (weight_is_ours) {
    part.product = Product::kWeightGradient;
    result.second = dense_product(part);
  }
  return result;
}

std::pair<at::Tensor, at::Tensor> libtorch_gradients(const Operands& o, bool data, bool weight) {
  const auto& g = o.geometry;
  if (weight && meets_the_workspace_bug(o)) {
    return {data ? libtorch_gradients(o, true, false).first : at::Tensor(),
            libtorch_gradients(on_every_stride_th_pixel(o), false, true).second};
  }
  if (data && !weight && !(o.x.defined() && o.x.sizes() == o.input_sizes)) {
    // The transposed convolution is the same product (and as fast: docs/first-results.md) and needs
    // nothing of x but its sizes, which the output padding restores where the stride does not
    // divide them.
    std::vector<int64_t> output_padding(2);
    for (size_t d = 0; d < 2; ++d) {
      const int64_t reached = (o.dy.size(2 + static_cast<int64_t>(d)) - 1) * g.stride -
                              2 * g.padding +
                              g.dilation * (o.w.size(2 + static_cast<int64_t>(d)) - 1) + 1;
      output_padding[d] = o.input_sizes[2 + d] - reached;
    }
    return {
        at::convolution(o.dy, o.w, {}, {g.stride, g.stride}, {g.padding, g.padding},
                        {g.dilation, g.dilation}, /*transposed=*/true, output_padding, g.groups),
        at::Tensor()};
  }
  auto [dx, dw, db] = at::convolution_backward(
      o.dy, o.x, o.w, c10::nullopt, {g.stride, g.stride}, {g.padding, g.padding},
      {g.dilation, g.dilation}, /*transposed=*/false, {0, 0}, g.groups, {data, weight, false});
  return {dx, dw};
}

at::Tensor dense_product(const Operands& o) {
  if (matrix_pays(o)) return matrix_product(o);
  return taps_pay(o, o.product) ? taps_product(o) : libtorch_product(o);
}

at::Tensor libtorch_product(const Operands& o) {
  const auto& g = o.geometry;
  switch (o.product) {
    case Product::kForward:
      return at::convolution(o.x, o.w, {}, {g.stride, g.stride}, {g.padding, g.padding},
                             {g.dilation, g.dilation}, /*transposed=*/false, {0, 0}, g.groups);
    case Product::kDataGradient:
      return libtorch_gradients(o, /*data=*/true, /*weight=*/false).first;
    case Product::kWeightGradient:
      return libtorch_gradients(o, /*data=*/false, /*weight=*/true).second;
  }
  return {};
}

}  // namespace approx
