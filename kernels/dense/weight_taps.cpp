// The exact weight gradient as matrix products, one for each tap of the kernel.
//
// A tap joins as many pixels of x as of dY, whatever the stride: their product over all images and
// pixels is the tap's slice of dW. In bfloat16 it is summed in float and rounded once. oneDNN's
// bf16 weight gradients of many channels take 1.2 to five times as long on maps of a few pixels
// (docs/internals/performance.md).
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "kernels/dense/pixels_first.h"
#include "kernels/operands.h"
#include "kernels/variant.h"

namespace approx {
namespace {

// The outputs along one direction that a tap joins to inputs: from `output` on, `count` of them, to
// every stride-th input from `input` on.
struct Joined {
  int64_t output = 0, input = 0, count = 0;
};

Joined joined(int64_t tap, int64_t inputs, int64_t outputs, int64_t stride, int64_t padding,
              int64_t dilation) {
  const int64_t shift = tap * dilation - padding;  // output j meets input j * stride + shift
  const int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
  const int64_t end = shift >= inputs ? 0 : std::min(outputs, (inputs - 1 - shift) / stride + 1);
  return {first, first * stride + shift, std::max<int64_t>(0, end - first)};
}

// Every stride-th slice of `map` from `from` on, `count` of them. A view.
at::Tensor every(const at::Tensor& map, int64_t dim, int64_t from, int64_t count, int64_t stride) {
  return map.slice(dim, from, from + (count - 1) * stride + 1, stride);
}

// [rows, columns, N, C] -> [rows * columns * N, C]. A view where the rows are neighbours.
at::Tensor as_matrix(const at::Tensor& pixels) { return pixels.reshape({-1, pixels.size(3)}); }

at::Tensor tap_weight_gradient(const Dense& /*plan*/, const Operands& o) {
  const auto& g = o.geometry;
  const auto x = pixels_first(o.x), dy = pixels_first(o.dy);
  // By taps, [Kh,Kw,Co,Ci]: products write matrices that lie together faster than rows far apart.
  at::Tensor taps = at::empty({o.w.size(2), o.w.size(3), o.w.size(0), o.w.size(1)}, o.dy.options());
  for (int64_t s = 0; s < o.w.size(3); ++s) {
    const auto across = joined(s, x.size(1), dy.size(1), g.stride.w, g.padding.w, g.dilation.w);
    if (across.count == 0) {
      taps.select(1, s).zero_();
      continue;
    }
    const auto outputs = dy.narrow(1, across.output, across.count).contiguous();
    // Rows that a stride leaves between are copied with those of their tap alone.
    auto inputs = every(x, 1, across.input, across.count, g.stride.w);
    if (g.stride.h == 1) inputs = inputs.contiguous();
    for (int64_t r = 0; r < o.w.size(2); ++r) {
      const auto down = joined(r, x.size(0), dy.size(0), g.stride.h, g.padding.h, g.dilation.h);
      auto tap = taps.select(0, r).select(0, s);
      if (down.count == 0) {
        tap.zero_();
        continue;
      }
      at::mm_out(tap, as_matrix(outputs.narrow(0, down.output, down.count)).t(),
                 as_matrix(every(inputs, 0, down.input, down.count, g.stride.h)));
    }
  }
  return taps.permute({2, 3, 0, 1}).clone(at::MemoryFormat::ChannelsLast);
}

bool has_numbers(const Problem& p) { return p.one_group() && p.n * p.ho * p.wo > 0; }

// Measured in docs/internals/performance.md.
bool weight_taps_pay(const Problem& p) {
  if (p.kh * p.kw < 9 || std::min(p.ci, p.co) < 128) return false;
  const int64_t pixels = p.ho * p.wo, weights = p.ci * p.co;
  return pixels <= 4 || (pixels <= 16 && weights >= 256 * 256) ||
         (pixels <= 64 && weights >= 512 * 512);
}

REGISTER_KERNEL(Dense, "weight_taps", tap_weight_gradient)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kBFloat16})
    .where(has_numbers)
    .pays(weight_taps_pay)
    .rank(3);

}  // namespace
}  // namespace approx
