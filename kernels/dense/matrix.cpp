#include "kernels/dense/matrix.h"

#include <ATen/ops/mm.h>

namespace approx {
namespace {

bool shapes_fit(at::IntArrayRef input, at::IntArrayRef weight, const Geometry& g) {
  const bool one_pixel = input[2] == 1 && input[3] == 1;
  return weight[2] == 1 && weight[3] == 1 && g.groups == 1 && g.padding == 0 &&
         (g.stride == 1 || one_pixel);
}

// [N,C,H,W] -> [N*H*W,C]: a view of a map with the channels last.
at::Tensor rows_of(const at::Tensor& map) {
  return map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
}

// Back, with the height and width of the input, which a 1x1 convolution does not change.
at::Tensor map_of(const at::Tensor& rows, const Operands& o) {
  return rows.view({o.input_sizes[0], o.input_sizes[2], o.input_sizes[3], rows.size(1)})
      .permute({0, 3, 1, 2});
}

}  // namespace

bool matrix_fits(const Operands& o) {
  return shapes_fit(o.input_sizes, o.w.sizes(), o.geometry) && o.input_sizes[0] > 0;
}

bool matrix_pays(at::IntArrayRef input, at::IntArrayRef weight, const Geometry& g) {
  constexpr int64_t kSmallMap = 64;  // pixels
  return shapes_fit(input, weight, g) && input[2] * input[3] <= kSmallMap;
}

bool matrix_pays(const Operands& o) {
  const bool one_pixel = o.input_sizes[2] == 1 && o.input_sizes[3] == 1;
  return matrix_fits(o) && matrix_pays(o.input_sizes, o.w.sizes(), o.geometry) &&
         (one_pixel || (o.w.is_cpu() && o.w.scalar_type() == at::kFloat));
}

at::Tensor matrix_product(const Operands& o) {
  const auto w = o.w.flatten(1);
  switch (o.product) {
    case Product::kForward:
      return map_of(at::mm(rows_of(o.x), w.t()), o);
    case Product::kDataGradient:
      return map_of(at::mm(rows_of(o.dy), w), o);
    case Product::kWeightGradient:
      // Strides and all as a channels-last weight, so that no update rule copies it.
      return at::mm(rows_of(o.dy).t(), rows_of(o.x))
          .as_strided(o.w.sizes(), {o.w.size(1), 1, o.w.size(1), o.w.size(1)});
  }
  return {};
}

}  // namespace approx
