// The exact products of 1x1 convolutions as plain matrix products: of linear layers, which come as
// convolutions of maps of one pixel, and of small maps. Channels last in memory, the pixels of all
// images are the rows of a matrix as they lie.
//
// oneDNN's convolutions take 1.2 to six times as long for linear layers, and in AVX2's width on
// 2x2, 7x7 and 8x8 maps 1.1 to 1.3 times for the three products of a layer together. On wider
// vectors maps are theirs: the matrix product behind LibTorch may leave half of each unused
// (docs/internals/performance.md).
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "kernels/operands.h"
#include "kernels/probe/lanes.h"
#include "kernels/variant.h"

namespace approx {
namespace {

bool has_one_pixel(const Problem& p) { return p.h == 1 && p.w == 1; }

// Whether the product is one matrix product: a 1x1 kernel in one group without padding, and without
// a stride unless there is but one pixel.
bool is_matrix_product(const Problem& p) {
  const Geometry& g = p.geometry;
  return p.kh == 1 && p.kw == 1 && g.groups == 1 && g.padding == Spatial(0) &&
         (g.stride == Spatial(1) || has_one_pixel(p)) && p.n > 0;
}

constexpr int64_t kSmallMap = 64;  // pixels

// In bfloat16 on a CPU: where oneDNN's weight gradient of many weights takes 1.1 to 1.9 times as
// long, and other products of the smallest maps 1.05 to 1.4 times (docs/internals/performance.md).
bool matrix_pays_in_bf16(const Problem& p) {
  constexpr int64_t kTinyMap = 4, kChannels = 128;
  if (std::min(p.ci, p.co) < kChannels) return false;
  if (p.h * p.w <= kTinyMap) return true;
  constexpr int64_t kMiddleMap = 16, kManyWeights = 1 << 16, kMostWeights = 1 << 19;
  return p.product == Product::kWeightGradient &&
         p.ci * p.co >= (p.h * p.w <= kMiddleMap ? kManyWeights : kMostWeights);
}

// Whether that is faster than LibTorch's convolution: linear layers anywhere, other maps on a CPU:
// in single precision where vectors are no wider than AVX2's, and in bfloat16 by size.
bool matrix_pays(const Problem& p) {
  if (p.h * p.w > kSmallMap) return false;
  if (has_one_pixel(p)) return true;
  if (p.device != Hardware::kCpu) return false;
  if (p.element == ElementType::kBFloat16) return matrix_pays_in_bf16(p);
  return p.element == ElementType::kFloat && float_lanes() <= kAvx2Lanes;
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

// With [pixels, channels] matrices: Y = X W^T, dX = dY W, dW = dY^T X.
at::Tensor matrix_product(const Dense& /*plan*/, const Operands& o) {
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

REGISTER_KERNEL(Dense, "matrix", matrix_product).where(is_matrix_product).pays(matrix_pays).rank(2);

}  // namespace
}  // namespace approx
