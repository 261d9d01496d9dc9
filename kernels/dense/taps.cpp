// The exact forward product and data gradient as matrix products, one for each tap of the kernel.
//
// Direct convolutions lose on maps of a few pixels: their registers are filled along the width, and
// much of what they multiply is padding (on a 2x2 map a 3x3 kernel meets 16 pixels and 20 zeros).
// With the pixels outermost in memory, [H,W,N,C], the pixels that a tap joins to an output row are
// neighbours, and every product is a sum of plain matrix products over what is really there.
#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>
#include <cstdlib>

#include "kernels/dense/dense.h"
#include "kernels/dense/pixels_first.h"
#include "kernels/operands.h"
#include "kernels/variant.h"

namespace approx {
namespace {

// [H,W,N,C] -> [N,C,H,W], channels last in memory. A copy also where one pixel would need none:
// autograd lets nobody change a view in place that was made where it was off.
at::Tensor images_first(const at::Tensor& pixels) {
  return pixels.permute({2, 3, 0, 1}).clone(at::MemoryFormat::ChannelsLast);
}

// How far a kernel reaches from its centre, and the pixels that remain of a row or column `size`
// long when it is shifted by `shift`.
int64_t reach_of(const at::Tensor& weight) { return weight.size(2) / 2; }
int64_t remaining(int64_t size, int64_t shift) { return size - std::abs(shift); }

// The columns of the input that column taps `shift` from the centre join to output columns, and
// those output columns; [H,W-|shift|,N,C], neighbours in memory, so that rows are one matrix.
at::Tensor input_columns(const at::Tensor& pixels, int64_t shift) {
  return pixels.narrow(1, std::max<int64_t>(0, shift), remaining(pixels.size(1), shift));
}
at::Tensor output_columns(const at::Tensor& pixels, int64_t shift) {
  return input_columns(pixels, -shift);
}

// Likewise rows, as a matrix [rows * W * N, C]. A view.
at::Tensor input_rows(const at::Tensor& columns, int64_t shift) {
  return columns.narrow(0, std::max<int64_t>(0, shift), remaining(columns.size(0), shift))
      .view({-1, columns.size(3)});
}
at::Tensor output_rows(const at::Tensor& columns, int64_t shift) {
  return input_rows(columns, -shift);
}

// One tap of the weights, shifts from the centre: [Co,Ci], a view that a BLAS takes as it is.
at::Tensor tap_of(const at::Tensor& weight, int64_t row_shift, int64_t column_shift) {
  const int64_t reach = reach_of(weight);
  return weight.select(3, reach + column_shift).select(2, reach + row_shift);
}

at::Tensor weights_channels_last(const at::Tensor& weight) {
  return weight.contiguous(at::MemoryFormat::ChannelsLast);
}

// Sums over taps into [H,W,N,channels] what `product(out, row_shift, column_shift, columns, first)`
// adds for each. The columns of one shift are gathered, and their sum is added, once for all rows.
template <typename Columns, typename Place, typename Rows, typename Product>
at::Tensor sum_over_taps(const at::Tensor& from, int64_t channels, int64_t reach,
                         Columns columns_of, Place place_of, Rows rows_of, Product product) {
  const int64_t height = from.size(0), width = from.size(1);
  at::Tensor total = at::empty({height, width, from.size(2), channels}, from.options());
  // From the centre outwards: the centre tap joins all pixels, so what it writes need not be zero.
  for (int64_t i = 0; i <= 2 * reach; ++i) {
    const int64_t s = (i % 2 == 0 ? 1 : -1) * ((i + 1) / 2);
    if (remaining(width, s) <= 0) continue;
    const auto columns = columns_of(from, s).contiguous();
    auto sum =
        s == 0 ? total
               : at::empty({height, columns.size(1), columns.size(2), channels}, from.options());
    for (int64_t j = 0; j <= 2 * reach; ++j) {
      const int64_t r = (j % 2 == 0 ? 1 : -1) * ((j + 1) / 2);
      if (remaining(height, r) <= 0) continue;
      auto out = rows_of(sum, r);
      product(out, columns, r, s, /*first=*/r == 0);
    }
    if (s != 0) place_of(total, s).add_(sum);
  }
  return total;
}

// out = (first ? 0 : out) + a b
void accumulate(at::Tensor& out, const at::Tensor& a, const at::Tensor& b, bool first) {
  if (first) {
    at::mm_out(out, a, b);
  } else {
    out.addmm_(a, b);
  }
}

at::Tensor taps_forward(const Operands& o) {
  const auto w = weights_channels_last(o.w);
  return images_first(sum_over_taps(
      pixels_first(o.x), w.size(0), reach_of(w), input_columns, output_columns, output_rows,
      [&](at::Tensor& y, const at::Tensor& columns, int64_t r, int64_t s, bool first) {
        accumulate(y, input_rows(columns, r), tap_of(w, r, s).t(), first);
      }));
}

at::Tensor taps_data_gradient(const at::Tensor& dy, const Operands& o) {
  const auto w = weights_channels_last(o.w);
  return images_first(sum_over_taps(
      dy, w.size(1), reach_of(w), output_columns, input_columns, input_rows,
      [&](at::Tensor& dx, const at::Tensor& columns, int64_t r, int64_t s, bool first) {
        accumulate(dx, output_rows(columns, r), tap_of(w, r, s), first);
      }));
}

at::Tensor taps_product(const Dense& /*plan*/, const Operands& o) {
  return o.product == Product::kForward ? taps_forward(o)
                                        : taps_data_gradient(pixels_first(o.dy), o);
}

// A square kernel of odd size in one group, whose padding keeps the size of the map.
bool keeps_the_map(const Problem& p) {
  const Geometry& g = p.geometry;
  return g.stride == Spatial(1) && g.dilation == Spatial(1) && g.groups == 1 && p.kh == p.kw &&
         p.kh % 2 == 1 && p.kh > 1 && g.padding == Spatial(p.kh / 2) && p.n > 0;
}

// Measured in docs/internals/performance.md.
bool taps_pay(const Problem& p) {
  const int64_t pixels = p.h * p.w, channels = std::min(p.co, p.ci);
  constexpr int64_t kManyRows = 64;  // images times the pixels of a row: matrices worth a BLAS
  if (channels < 128 || p.n * p.w < kManyRows) return false;
  return pixels <= 9 && !direct_pays_on_small_maps(p);
}

REGISTER_KERNEL(Dense, "taps", taps_product)
    .computes({Product::kForward, Product::kDataGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where(keeps_the_map)
    .pays(taps_pay)
    .rank(3);

}  // namespace
}  // namespace approx
