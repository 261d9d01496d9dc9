#include "kernels/dense/matrix.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

namespace approx {
namespace {

bool has_one_pixel(at::IntArrayRef map) { return map[2] == 1 && map[3] == 1; }

bool matrix_shapes_fit(at::IntArrayRef input, at::IntArrayRef weight, const Geometry& g) {
  return weight[2] == 1 && weight[3] == 1 && g.groups == 1 && g.padding == 0 &&
         (g.stride == 1 || has_one_pixel(input));
}

// [N,C,H,W] -> [N*H*W,C]: a view of a map with the channels last.
at::Tensor rows_of(const at::Tensor& map) {
  return map.permute({0, 2, 3, 1}).reshape({-1, map.size(1)});
}

// a b into a new tensor of four dimensions, channels last, with its strides. Not a view of the
// matrix: autograd lets nobody change a view in place that was made where it was off.
at::Tensor product_of(const at::Tensor& a, const at::Tensor& b, at::IntArrayRef sizes) {
  auto result = at::empty(sizes, a.options().memory_format(at::MemoryFormat::ChannelsLast));
  auto rows = result.permute({0, 2, 3, 1}).view({-1, result.size(1)});
  at::mm_out(rows, a, b);
  return result;
}

}  // namespace

bool matrix_fits(const Operands& o) {
  return matrix_shapes_fit(o.input_sizes, o.w.sizes(), o.geometry) && o.input_sizes[0] > 0;
}

bool matrix_pays(at::IntArrayRef input, at::IntArrayRef weight, const Geometry& g) {
  constexpr int64_t kSmallMap = 64;  // pixels
  return matrix_shapes_fit(input, weight, g) && input[2] * input[3] <= kSmallMap;
}

bool matrix_pays(const Operands& o) {
  return o.input_sizes[0] > 0 && matrix_pays(o.input_sizes, o.w.sizes(), o.geometry) &&
         (has_one_pixel(o.input_sizes) || (o.w.is_cpu() && o.w.scalar_type() == at::kFloat));
}

at::Tensor matrix_product(const Operands& o) {
  const auto w = o.w.flatten(1);
  const auto& in = o.input_sizes;
  switch (o.product) {
    case Product::kForward:
      return product_of(rows_of(o.x), w.t(), {in[0], w.size(0), in[2], in[3]});
    case Product::kDataGradient:
      return product_of(rows_of(o.dy), w, in);
    case Product::kWeightGradient:
      return product_of(rows_of(o.dy).t(), rows_of(o.x), o.w.sizes());
  }
  return {};
}

}  // namespace approx
