#include "kernels/dense/dense.h"

#include <ATen/ops/convolution.h>
#include <ATen/ops/convolution_backward.h>

#include "kernels/kernel.h"

namespace approx {

std::pair<at::Tensor, at::Tensor> dense_gradients(const Operands& o, bool data, bool weight) {
  const auto& g = o.geometry;
  if (data && !weight && !o.x.defined()) {
    // The transposed convolution is the same product and needs nothing of x but its sizes, which
    // the output padding restores where the stride does not divide them.
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
  const auto& g = o.geometry;
  switch (o.product) {
    case Product::kForward:
      return at::convolution(o.x, o.w, {}, {g.stride, g.stride}, {g.padding, g.padding},
                             {g.dilation, g.dilation}, /*transposed=*/false, {0, 0}, g.groups);
    case Product::kDataGradient:
      return dense_gradients(o, /*data=*/true, /*weight=*/false).first;
    case Product::kWeightGradient:
      return dense_gradients(o, /*data=*/false, /*weight=*/true).second;
  }
  return {};
}

}  // namespace approx
