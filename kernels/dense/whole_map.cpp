// The exact forward product and data gradient of maps of a few pixels as one matrix product.
//
// Where every output pixel sees every input pixel, as under a 3x3 kernel on 2x2 maps, a layer is a
// linear one of whole maps: with the channels last, x is a matrix [N, H*W*Ci] as it lies, and y one
// [N, Ho*Wo*Co]. The matrix between them holds for each pair of pixels the weights of the tap that
// joins them. In bfloat16 each result is summed in float and rounded once.
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "kernels/operands.h"
#include "kernels/variant.h"

namespace approx {
namespace {

// Whether windows along one direction hold all inputs: no weight of the matrix is then a zero that
// the convolution does not multiply by, which an infinity or a NaN of a far pixel would meet.
bool windows_hold(int64_t inputs, int64_t outputs, int64_t kernel, int64_t stride,
                  int64_t padding) {
  return inputs - 1 + padding < kernel && (outputs - 1) * stride <= padding;
}

bool sees_whole_map(const Problem& p) {
  constexpr int64_t kMostPixels = 16;  // the matrix grows with their square
  const Geometry& g = p.geometry;
  return p.one_group() && g.dilation == Spatial(1) && p.n > 0 && p.ho * p.wo > 0 &&
         std::max(p.h * p.w, p.ho * p.wo) <= kMostPixels &&
         windows_hold(p.h, p.ho, p.kh, g.stride.h, g.padding.h) &&
         windows_hold(p.w, p.wo, p.kw, g.stride.w, g.padding.w);
}

// [N,C,H,W] -> [N, H*W*C]: a view of a map with the channels last.
at::Tensor maps_of(const at::Tensor& map) {
  return map.permute({0, 2, 3, 1}).reshape({map.size(0), -1});
}

// [Ho*Wo*Co, H*W*Ci]
at::Tensor matrix_of(const Operands& o) {
  const Problem p = problem_of(o);
  const Geometry& g = p.geometry;
  const auto w = o.w.permute({0, 2, 3, 1});  // [Co,Kh,Kw,Ci], as it lies with the channels last
  auto matrix = at::empty({p.ho, p.wo, p.co, p.h, p.w, p.ci}, o.w.options());
  for (int64_t i = 0; i < p.ho; ++i) {
    for (int64_t j = 0; j < p.wo; ++j) {
      matrix.select(0, i).select(0, j).copy_(w.narrow(1, g.padding.h - i * g.stride.h, p.h)
                                                 .narrow(2, g.padding.w - j * g.stride.w, p.w));
    }
  }
  return matrix.view({p.ho * p.wo * p.co, p.h * p.w * p.ci});
}

at::Tensor whole_map_product(const Dense& /*plan*/, const Operands& o) {
  const bool forward = o.product == Product::kForward;
  const auto matrix = matrix_of(o);
  auto result = at::empty(result_sizes(problem_of(o)),
                          o.w.options().memory_format(at::MemoryFormat::ChannelsLast));
  auto maps = result.permute({0, 2, 3, 1}).view({result.size(0), -1});
  at::mm_out(maps, maps_of(forward ? o.x : o.dy), forward ? matrix.t() : matrix);
  return result;
}

// Measured in docs/internals/performance.md: the matrix is written anew for each product, which few
// images do not pay for.
bool whole_map_pays(const Problem& p) {
  if (p.kh * p.kw < 9 || std::min(p.ci, p.co) < 256) return false;
  const int64_t pixels = std::max(p.h * p.w, p.ho * p.wo);
  return pixels == 1 || (pixels <= 4 && p.n >= 64);
}

REGISTER_KERNEL(Dense, "whole_map", whole_map_product)
    .computes({Product::kForward, Product::kDataGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kBFloat16})
    .where(sees_whole_map)
    .pays(whole_map_pays)
    .rank(3);

}  // namespace
}  // namespace approx
