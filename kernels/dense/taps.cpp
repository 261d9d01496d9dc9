#include "kernels/dense/taps.h"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/zeros.h>

#include <algorithm>
#include <cstdlib>

namespace approx {
namespace {

// [N,C,H,W] -> [H,W,N,C] contiguous
at::Tensor pixels_first(const at::Tensor& map) { return map.permute({2, 3, 0, 1}).contiguous(); }

// [H,W,N,C] -> [N,C,H,W], channels last in memory
at::Tensor images_first(const at::Tensor& pixels) {
  return pixels.permute({2, 3, 0, 1}).contiguous(at::MemoryFormat::ChannelsLast);
}

// Pixels of one or several rows as a matrix [rows * width * N, C].
at::Tensor as_matrix(const at::Tensor& pixels, int64_t row, int64_t rows, int64_t column,
                     int64_t width) {
  return pixels.narrow(0, row, rows).narrow(1, column, width).view({-1, pixels.size(3)});
}

// Calls `body(tap_row, tap_column, input pixels, output pixels, first)` for every pair of matrices
// that a tap joins, those of the centre tap first: it joins all pixels, so that what it writes need
// not be zero before.
template <typename Body>
void for_taps(const at::Tensor& input, const at::Tensor& output, int64_t kernel, Body body) {
  const int64_t height = input.size(0), width = input.size(1), reach = kernel / 2;
  body(reach, reach, as_matrix(input, 0, height, 0, width), as_matrix(output, 0, height, 0, width),
       true);
  for (int64_t r = -reach; r <= reach; ++r) {
    for (int64_t s = -reach; s <= reach; ++s) {
      if (r == 0 && s == 0) continue;
      const int64_t rows = height - std::abs(r), columns = width - std::abs(s);
      if (rows <= 0 || columns <= 0) continue;
      const int64_t from_row = std::max<int64_t>(0, r), to_row = std::max<int64_t>(0, -r);
      const int64_t from = std::max<int64_t>(0, s), to = std::max<int64_t>(0, -s);
      // Whole rows are one matrix; parts of rows are not neighbours.
      const int64_t together = columns == width ? rows : 1;
      for (int64_t i = 0; i < rows; i += together) {
        body(reach + r, reach + s, as_matrix(input, from_row + i, together, from, columns),
             as_matrix(output, to_row + i, together, to, columns), false);
      }
    }
  }
}

// out = (first ? 0 : out) + a b. Views with unit stride in one dimension go to the BLAS as they
// are.
void accumulate(at::Tensor out, const at::Tensor& a, const at::Tensor& b, bool first) {
  if (first) {
    at::mm_out(out, a, b);
  } else {
    out.addmm_(a, b);
  }
}

// One tap of the weights: [Co,Ci], a view.
at::Tensor tap_of(const at::Tensor& weight, int64_t row, int64_t column) {
  return weight.select(3, column).select(2, row);
}

at::Tensor channels_last(const at::Tensor& weight) {
  return weight.contiguous(at::MemoryFormat::ChannelsLast);
}

at::Tensor pixels_for(const at::Tensor& like, int64_t channels) {
  return at::empty({like.size(0), like.size(1), like.size(2), channels}, like.options());
}

at::Tensor forward(const Operands& o) {
  const auto x = pixels_first(o.x), w = channels_last(o.w);
  auto y = pixels_for(x, w.size(0));
  for_taps(x, y, w.size(2), [&](auto r, auto s, const auto& in, const auto& out, bool first) {
    accumulate(out, in, tap_of(w, r, s).t(), first);
  });
  return images_first(y);
}

at::Tensor data_gradient(const at::Tensor& dy, const Operands& o) {
  const auto w = channels_last(o.w);
  auto dx = pixels_for(dy, w.size(1));
  for_taps(dx, dy, w.size(2), [&](auto r, auto s, const auto& in, const auto& out, bool first) {
    accumulate(in, out, tap_of(w, r, s), first);
  });
  return images_first(dx);
}

at::Tensor weight_gradient(const at::Tensor& dy, const Operands& o) {
  const auto x = pixels_first(o.x);
  // Taps that join no pixels (a kernel wider than the map) stay zero.
  auto dw = at::zeros(o.w.sizes(), o.w.options().memory_format(at::MemoryFormat::ChannelsLast));
  for_taps(x, dy, dw.size(2), [&](auto r, auto s, const auto& in, const auto& out, bool) {
    accumulate(tap_of(dw, r, s), out.t(), in, false);
  });
  return dw;
}

bool shapes_fit(at::IntArrayRef weight, const Geometry& g) {
  return g.stride == 1 && g.dilation == 1 && g.groups == 1 && weight[2] == weight[3] &&
         weight[2] % 2 == 1 && weight[2] > 1 && 2 * g.padding == weight[2] - 1;
}

}  // namespace

bool taps_fit(const Operands& o) {
  return o.w.is_cpu() && o.w.scalar_type() == at::kFloat && shapes_fit(o.w.sizes(), o.geometry) &&
         o.input_sizes[0] > 0;
}

bool taps_pay(at::IntArrayRef input, at::IntArrayRef weight, const Geometry& geometry) {
  constexpr int64_t kSmallMap = 16;       // pixels
  constexpr int64_t kManyChannels = 128;  // on both sides: matrices that a BLAS does well
  constexpr int64_t kManyRows = 64;       // images times the pixels of a row
  return shapes_fit(weight, geometry) && input[2] * input[3] <= kSmallMap &&
         std::min(weight[0], weight[1]) >= kManyChannels && input[0] * input[3] >= kManyRows;
}

bool taps_pay(const Operands& o) {
  return taps_fit(o) && taps_pay(o.input_sizes, o.w.sizes(), o.geometry);
}

at::Tensor taps_product(const Operands& o) {
  if (o.product == Product::kForward) return forward(o);
  const auto dy = pixels_first(o.dy);
  return o.product == Product::kDataGradient ? data_gradient(dy, o) : weight_gradient(dy, o);
}

std::pair<at::Tensor, at::Tensor> taps_gradients(const Operands& o, bool data, bool weight) {
  const auto dy = pixels_first(o.dy);
  return {data ? data_gradient(dy, o) : at::Tensor(),
          weight ? weight_gradient(dy, o) : at::Tensor()};
}

}  // namespace approx
