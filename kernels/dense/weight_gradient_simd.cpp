// The exact weight gradient from packed operands, for every instruction set that Highway knows.
//
//   dW[co, r, s, ci] = sum over pixels (n, i, j) of
//                      dY[n, i, j, co] X[n, i stride - padding + r dilation, j ..., ci]
//
// is for each tap (r, s) a product of matrices [Co, pixels] and [pixels, Ci], and its sums are
// long: all pixels of all images. So a tile of dW stays in registers, kTileRows output channels by
// one or two vectors of input channels, while pixels stream past. Three things make the streams
// run:
// - Both operands are packed by tiles of pixels into the order in which they are read: dY in panels
//   of kTileRows channels, X in blocks of the vectors' channels.
// - Pixels lie as [row][column][image]: a tap is then a shift, and what is left of a row when it is
//   clipped at the map's edge is one run over all images of the tile. Nothing of the padding is
//   multiplied, which on small maps is much (a 4x4 map under a 3x3 kernel: 44 of 144 are padding).
// - With a stride the columns of X are split by their remainder, so that the pixels of a tap are
//   neighbours again.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dense/weight_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/register_tile-inl.h"
#include "kernels/weight_sums-inl.h"
// clang-format on

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "kernels/dense/dense.h"
#include "kernels/pixel_tiles.h"
#include "kernels/simd_variant.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr int64_t kTilePixels = 512;

// sums[c, :] += sum over `rows` runs of `count` pixels of dy[pixel, c] x[pixel, :], for kChannels
// output channels c and kVectors vectors of input channels. `dy` is [pixel][kChannels], `x`
// [pixel][vectors]; runs begin dy_step and x_step numbers after one another, and sums_step numbers
// lie between the sums of two channels.
template <int kChannels, int kVectors>
HWY_NOINLINE void multiply_runs(const float* HWY_RESTRICT dy, const float* HWY_RESTRICT x,
                                int64_t rows, int64_t count, int64_t dy_step, int64_t x_step,
                                float* HWY_RESTRICT sums, int64_t sums_step) {
  const Floats d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
  Vector sum[kChannels][kVectors];
  for (int c = 0; c < kChannels; ++c) {
    for (int v = 0; v < kVectors; ++v) sum[c][v] = hn::Load(d, sums + c * sums_step + v * kLanes);
  }
  for (int64_t row = 0; row < rows; ++row, dy += dy_step, x += x_step) {
    const float* factors = dy;
    const float* inputs = x;
#pragma GCC unroll 4
    for (int64_t i = 0; i < count; ++i, factors += kChannels, inputs += kVectors * kLanes) {
      Vector in[kVectors];
      for (int v = 0; v < kVectors; ++v) {
        in[v] = hn::Load(d, inputs + v * kLanes);
        hold(in[v]);
      }
#pragma GCC unroll 8
      for (int c = 0; c < kChannels; ++c) {
        auto factor = hn::Set(d, factors[c]);
        if (kVectors > 1) hold(factor);
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[c][v] = hn::MulAdd(factor, in[v], sum[c][v]);
      }
    }
  }
  for (int c = 0; c < kChannels; ++c) {
    for (int v = 0; v < kVectors; ++v) hn::Store(sum[c][v], d, sums + c * sums_step + v * kLanes);
  }
}

using MultiplyRuns = void (*)(const float*, const float*, int64_t, int64_t, int64_t, int64_t,
                              float*, int64_t);

// By [vectors - 1][channels - 1].
constexpr MultiplyRuns kMultiplyRuns[2][8] = {
    {multiply_runs<1, 1>, multiply_runs<2, 1>, multiply_runs<3, 1>, multiply_runs<4, 1>,
     multiply_runs<5, 1>, multiply_runs<6, 1>, multiply_runs<7, 1>, multiply_runs<8, 1>},
    {multiply_runs<1, 2>, multiply_runs<2, 2>, multiply_runs<3, 2>, multiply_runs<4, 2>,
     multiply_runs<5, 2>, multiply_runs<6, 2>, multiply_runs<7, 2>, multiply_runs<8, 2>}};

// Channels [first, first + count).
struct Range {
  int64_t first, count;
};

// Output channels in panels of kTileRows; what is left over is spread, so that no panel is narrow
// where there are enough channels to fill wider ones (20 = 6 + 6 + 4 + 4, not 6 + 6 + 6 + 2).
std::vector<Range> panels_of(int64_t channels) {
  const int64_t count = (channels + kTileRows - 1) / kTileRows;
  std::vector<Range> panels;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = channels * i / count, last = channels * (i + 1) / count;
    panels.push_back({first, last - first});
  }
  return panels;
}

int64_t floor_divide(int64_t a, int64_t b) { return (a >= 0 ? a : a - b + 1) / b; }

// One direction of a tap: input pixel = output pixel * stride + offset.
struct Shift {
  int64_t offset;  // tap * dilation - padding
  // Output pixels whose input is on the map.
  Range outputs;
};
Shift shift_of(int64_t tap, int64_t stride, int64_t padding, int64_t dilation, int64_t in,
               int64_t out) {
  const int64_t offset = tap * dilation - padding;
  const int64_t first = std::clamp<int64_t>(-floor_divide(offset, stride), 0, out);
  const int64_t last = std::clamp<int64_t>(floor_divide(in - 1 - offset, stride) + 1, first, out);
  return {offset, {first, last - first}};
}

class WeightGradient {
 public:
  explicit WeightGradient(const Arguments<Dense, float>& args)
      : args_(args),
        p_(args.problem),
        stride_(p_.geometry.stride),
        panels_(panels_of(p_.co)),
        columns_((p_.w + stride_.w - 1) / stride_.w),
        tiles_(p_, kTilePixels / p_.wo, kTilePixels / (p_.ho * p_.wo)) {
    for (int64_t r = 0; r < p_.kh; ++r) {
      rows_.push_back(
          shift_of(r, stride_.h, p_.geometry.padding.h, p_.geometry.dilation.h, p_.h, p_.ho));
    }
    for (int64_t s = 0; s < p_.kw; ++s) {
      shifts_.push_back(
          shift_of(s, stride_.w, p_.geometry.padding.w, p_.geometry.dilation.w, p_.w, p_.wo));
    }
  }

  void compute(const Team& team) const {
    const WeightSums sums(p_, kTileVectors, tiles_.count());
    const auto add = [&](const WeightSums::Item& item) { add_tiles(sums, item); };
    sums.compute(team, add, args_.out);
  }

 private:
  void add_tiles(const WeightSums& sums, const WeightSums::Item& item) const {
    // A tile reads the rows that its taps reach.
    const int64_t reach =
        (tiles_.rows() - 1) * stride_.h + (p_.kh - 1) * p_.geometry.dilation.h + 1;
    const int64_t width = sums.block(0).width();
    auto x = hwy::AllocateAligned<float>(static_cast<size_t>(std::min(reach, p_.h) * stride_.w *
                                                             columns_ * tiles_.images() * width));
    auto dy = hwy::AllocateAligned<float>(
        static_cast<size_t>(tiles_.rows() * p_.wo * tiles_.images() * p_.co));
    for (int64_t t = item.first_tile; t < item.last_tile; ++t) {
      const PixelTile tile = tiles_[t];
      pack_dy(tile, dy.get());
      for (size_t b = item.first_block; b < item.last_block; ++b) {
        pack_x(tile, sums.block(b), x.get());
        multiply(tile, sums.block(b), dy.get(), x.get(), sums.sums(item, b), sums.step(b));
      }
    }
  }

  // The input rows that a tile reads.
  Range input_rows(const PixelTile& tile) const {
    const int64_t first = std::max<int64_t>(0, tile.top * stride_.h - p_.geometry.padding.h);
    const int64_t last =
        std::min(p_.h, (tile.top + tile.rows - 1) * stride_.h - p_.geometry.padding.h +
                           (p_.kh - 1) * p_.geometry.dilation.h + 1);
    return {first, std::max<int64_t>(0, last - first)};
  }

  // dY of a tile by panels: [panel][row][column][image][channel].
  void pack_dy(const PixelTile& tile, float* packed) const {
    const int64_t pixels = tile.rows * p_.wo;
    for (int64_t i = 0; i < tile.images; ++i) {
      const float* image = args_.dy + ((tile.image + i) * p_.ho + tile.top) * p_.wo * p_.co;
      constexpr int64_t kTogether = 16;  // pixels whose cache lines are read once for all panels
      for (int64_t first = 0; first < pixels; first += kTogether) {
        const int64_t last = std::min(pixels, first + kTogether);
        for (const auto& panel : panels_) {
          float* to =
              packed + panel.first * pixels * tile.images + (first * tile.images + i) * panel.count;
          copy_channels(image + first * p_.co + panel.first, p_.co, to, tile.images * panel.count,
                        last - first, panel.count);
        }
      }
    }
  }

  // `count` numbers of each of `pixels` pixels.
  static void copy_channels(const float* from, int64_t from_step, float* to, int64_t to_step,
                            int64_t pixels, int64_t count) {
    const auto copy = [&]<int kCount>() {
      for (int64_t i = 0; i < pixels; ++i, from += from_step, to += to_step) {
        std::memcpy(to, from, kCount * sizeof(float));
      }
    };
    switch (count) {  // of a size that is known, a copy is one or two moves
      case 8:
        return copy.template operator()<8>();
      case 6:
        return copy.template operator()<6>();
      case 5:
        return copy.template operator()<5>();
      case 4:
        return copy.template operator()<4>();
      default:
        for (int64_t i = 0; i < pixels; ++i, from += from_step, to += to_step) {
          std::copy_n(from, count, to);
        }
    }
  }

  // X under a tile, one block: [row][column % stride][column / stride][image][lane].
  void pack_x(const PixelTile& tile, const InputChannels& block, float* packed) const {
    const int64_t width = block.width();
    const Range rows = input_rows(tile);
    for (int64_t y = 0; y < rows.count; ++y) {
      if (!is_read(rows.first + y)) continue;
      for (int64_t i = 0; i < tile.images; ++i) {
        const float* from =
            args_.x + ((tile.image + i) * p_.h + rows.first + y) * p_.w * p_.ci + block.first;
        for (int64_t phase = 0; phase < stride_.w; ++phase) {
          float* to = packed + (((y * stride_.w + phase) * columns_) * tile.images + i) * width;
          for (int64_t column = phase; column < p_.w;
               column += stride_.w, to += tile.images * width) {
            copy_block(from + column * p_.ci, block, to);
          }
        }
      }
    }
  }

  // Whether some tap of some output row reads input row y: under a kernel narrower than the stride
  // not all are read.
  bool is_read(int64_t y) const {
    for (const auto& row : rows_) {
      if ((y - row.offset) % stride_.h == 0) return true;
    }
    return false;
  }

  // sums += what the tile gives to each panel and tap of a block; sums_step numbers lie between
  // those of two output channels.
  void multiply(const PixelTile& tile, const InputChannels& block, const float* dy, const float* x,
                float* sums, int64_t sums_step) const {
    const int64_t width = block.width(), g = tile.images;
    const int64_t first_input_row = input_rows(tile).first;
    const int64_t row_size = stride_.w * columns_ * g * width;  // of packed X
    for (const auto& panel : panels_) {
      const float* panel_dy = dy + panel.first * tile.rows * p_.wo * g;
      const auto run = kMultiplyRuns[block.vectors - 1][panel.count - 1];
      for (int64_t r = 0; r < p_.kh; ++r) {
        const Shift& row = rows_[static_cast<size_t>(r)];
        const int64_t top = std::max(tile.top, row.outputs.first);
        const int64_t bottom =
            std::min(tile.top + tile.rows, row.outputs.first + row.outputs.count);
        if (top >= bottom) continue;
        for (int64_t s = 0; s < p_.kw; ++s) {
          const Shift& column = shifts_[static_cast<size_t>(s)];
          if (column.outputs.count == 0) continue;
          const int64_t quotient = floor_divide(column.offset, stride_.w);
          const int64_t phase = column.offset - quotient * stride_.w;
          const float* from_dy =
              panel_dy + ((top - tile.top) * p_.wo + column.outputs.first) * g * panel.count;
          const float* from_x = x + (top * stride_.h + row.offset - first_input_row) * row_size +
                                (phase * columns_ + column.outputs.first + quotient) * g * width;
          int64_t rows = bottom - top, count = column.outputs.count * g;
          const int64_t dy_step = p_.wo * g * panel.count, x_step = stride_.h * row_size;
          // Whole rows that follow each other are one run.
          if (count * panel.count == dy_step && count * width == x_step) count *= rows, rows = 1;
          run(from_dy, from_x, rows, count, dy_step, x_step,
              sums + panel.first * sums_step + (r * p_.kw + s) * width, sums_step);
        }
      }
    }
  }

  const Arguments<Dense, float>& args_;
  const Problem& p_;
  Spatial stride_;
  std::vector<Range> panels_;
  std::vector<Shift> rows_, shifts_;
  int64_t columns_;
  PixelTiles tiles_;
};

void packed_weight_gradient(const Arguments<Dense, float>& args, const Team& team) {
  WeightGradient(args).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {
namespace {

// Measured in docs/internals/performance.md. Packing must be paid for by many multiplications of
// what is packed, and vectors must be full.
bool packing_pays(const Problem& p) { return p.kh * p.kw >= 9 && p.ci >= 32 && p.co >= 16; }

REGISTER_SIMD_KERNEL(Dense, "packed", packed_weight_gradient)
    .computes({Product::kWeightGradient})
    .reads({ElementType::kFloat})
    .where([](const Problem& p) { return p.one_group() && p.n * p.ho * p.wo * p.ci * p.co > 0; })
    .pays(packing_pays)
    .rank(1);

}  // namespace
}  // namespace approx
#endif
