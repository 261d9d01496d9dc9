// The weight gradient of a dY with few entries, from any source of entries. Included once for each
// instruction set that Highway compiles for.
//
//   dW[co, r, s, :] += dY[n, i, j, co] X[n, i stride - padding + r dilation, j ..., :]
//
// The sum is over every entry (n, i, j, co). Entries come in lists by tile of pixels and output
// channel. They are used tile by tile while they are in the cache. Reading them from memory again
// for each block of input channels would take a fifth of the time. A list belongs to a group of
// sums that stay in registers. These are all taps of the kernel for one vector of input channels,
// or as many taps of a row and vectors as fit. An entry costs a broadcast and one multiply-add for
// each of the sums. X is read from the first-level cache: a tile of it is packed, with its padding
// as zeros. The offset of an entry's pixels is then one number, equal for every block of input
// channels.
#if defined(APPROX_KERNELS_LISTED_GRADIENT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_LISTED_GRADIENT_INL_H_
#undef APPROX_KERNELS_LISTED_GRADIENT_INL_H_
#else
#define APPROX_KERNELS_LISTED_GRADIENT_INL_H_
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/pixel_tiles.h"
#include "kernels/team.h"
#include "kernels/weight_sums-inl.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The entries of a tile: a list for each output channel.
struct Lists {
  // Makes room for `entries` entries, including gaps between lists.
  void reserve(int64_t entries) {
    if (entries <= room) return;
    room = entries;
    value = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(entries));
    at = std::make_unique_for_overwrite<int32_t[]>(static_cast<size_t>(entries));
  }

  std::unique_ptr<float[]> value;
  std::unique_ptr<int32_t[]> at;    // offset in packed X of the pixels that an entry reads
  std::vector<int32_t> begin, end;  // of each channel's entries
  int64_t room = 0;
};

// The offset of an output pixel's first pixel of X in a packed tile.
struct PackedPixels {
  int64_t image_size, row_size, column_size;  // from one image, output row or column to the next

  int64_t at(int64_t image, int64_t row, int64_t column) const {
    return image * image_size + row * row_size + column * column_size;
  }
};

// Computes sums[co, :] += the contribution of each output channel's entries, for a window of kRows
// x kColumns taps of kVectors vectors each. Rows of packed X lie row_step numbers apart, the sums
// of two output channels sums_step.
template <int kRows, int kColumns, int kVectors>
HWY_NOINLINE void add_lists(const Lists& lists, int64_t channels, const float* HWY_RESTRICT x,
                            int64_t row_step, float* HWY_RESTRICT sums, int64_t sums_step) {
  const hn::ScalableTag<float> d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));
  constexpr int kAcross = kColumns * kVectors;
  const float* value = lists.value.get();
  const int32_t* at = lists.at.get();
  for (int64_t c = 0; c < channels; ++c, sums += sums_step) {
    const int32_t end = lists.end[static_cast<size_t>(c)];
    int32_t e = lists.begin[static_cast<size_t>(c)];
    if (e == end) continue;
    hn::Vec<decltype(d)> sum[kRows][kAcross];
    for (int r = 0; r < kRows; ++r) {
      for (int k = 0; k < kAcross; ++k) sum[r][k] = hn::Load(d, sums + (r * kAcross + k) * kLanes);
    }
    for (; e < end; ++e) {
      const auto factor = hn::Set(d, value[e]);
      const float* own = x + at[e];
#pragma GCC unroll 8
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 16
        for (int k = 0; k < kAcross; ++k) {
          sum[r][k] = hn::MulAdd(factor, hn::Load(d, own + r * row_step + k * kLanes), sum[r][k]);
        }
      }
    }
    for (int r = 0; r < kRows; ++r) {
      for (int k = 0; k < kAcross; ++k) hn::Store(sum[r][k], d, sums + (r * kAcross + k) * kLanes);
    }
  }
}

// A window of taps that moves over the kernel, and its number of vectors of input channels.
struct Window {
  int64_t rows, columns, vectors;
  void (*add)(const Lists&, int64_t, const float*, int64_t, float*, int64_t);
};

template <int kRows, int kColumns, int kVectors>
constexpr Window kWindow = {kRows, kColumns, kVectors, add_lists<kRows, kColumns, kVectors>};

// Nine to twelve sums hide the latency of a multiply-add, and sixteen registers hold them. All
// blocks of input channels have equally many vectors, so that an entry's offset is the same in
// each.
inline Window window_of(const Problem& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
  const int64_t vectors = (p.ci + lanes - 1) / lanes;
  if (p.geometry.dilation.w == 1 && p.kw == 3) {
    if (p.kh == 3) return kWindow<3, 3, 1>;
    if (vectors % 4 == 0) return kWindow<1, 3, 4>;
    return vectors % 2 == 0 ? kWindow<1, 3, 2> : kWindow<1, 3, 1>;
  }
  if (p.geometry.dilation.w == 1 && p.kw == 5) {
    return vectors % 2 == 0 ? kWindow<1, 5, 2> : kWindow<1, 5, 1>;
  }
  if (p.geometry.dilation.w == 1 && p.kw == 7) return kWindow<1, 7, 1>;
  if (vectors % 8 == 0) return kWindow<1, 1, 8>;
  if (vectors % 4 == 0) return kWindow<1, 1, 4>;
  return vectors % 2 == 0 ? kWindow<1, 1, 2> : kWindow<1, 1, 1>;
}

// `Source` writes the lists of a tile by
//   void list(const PixelTile&, const PackedPixels&, Source::Scratch&, Lists&) const
// with a Scratch that was constructed from the source and the pixels of the largest tile.
template <typename Source>
class ListedWeightGradient {
 public:
  ListedWeightGradient(const Problem& problem, const float* x, float* out, const Source& source)
      : p_(problem),
        x_(x),
        out_(out),
        source_(source),
        window_(window_of(p_)),
        width_(InputChannels{0, 0, window_.vectors}.width()),
        columns_((p_.wo - 1) * p_.geometry.stride.w + (p_.kw - 1) * p_.geometry.dilation.w + 1),
        tiles_(tiles_of_cache()) {}

  void compute(const Team& team) const {
    const int64_t tiles = tiles_.count();
    const WeightSums sums(p_, window_.vectors, tiles);
    if (sums.items_of_tile() == 1) {
      sums.compute(
          team, [&](const WeightSums::Item& item) { add_tiles_at_once(sums, item); }, out_);
      return;
    }
    std::vector<Lists> lists(static_cast<size_t>(tiles));
    const int64_t shares = std::min<int64_t>(tiles, 64);
    team.share(shares, [&](int64_t share) {
      typename Source::Scratch scratch(source_, pixels_of_tile());
      for (int64_t t = tiles * share / shares; t < tiles * (share + 1) / shares; ++t) {
        source_.list(tiles_[t], packed_pixels(), scratch, lists[static_cast<size_t>(t)]);
      }
    });
    sums.compute(
        team, [&](const WeightSums::Item& item) { add_tiles(sums, item, lists); }, out_);
  }

 private:
  // A tile has as much of X as fits into a first-level cache: 40 of 48 KiB where vectors have 64
  // bytes, 20 of 32 KiB where they have 32.
  PixelTiles tiles_of_cache() const {
    const int64_t room = 640 * InputChannels{0, 0, 1}.width();
    int64_t rows = 1;
    while (rows < p_.ho && rows_read(rows + 1) * row_size() <= room) ++rows;
    const int64_t of_column = (p_.ho + rows - 1) / rows;  // tiles of about equal size
    rows = (p_.ho + of_column - 1) / of_column;
    return {p_, rows, room / (rows_read(rows) * row_size())};
  }

  // Rows of X, padding included, that `rows` output rows read.
  int64_t rows_read(int64_t rows) const {
    return (rows - 1) * p_.geometry.stride.h + (p_.kh - 1) * p_.geometry.dilation.h + 1;
  }

  int64_t row_size() const { return columns_ * width_; }
  int64_t image_size() const { return rows_read(tiles_.rows()) * row_size(); }
  PackedPixels packed_pixels() const {
    return {image_size(), p_.geometry.stride.h * row_size(), p_.geometry.stride.w * width_};
  }
  // Number of pixels of the largest tile.
  int64_t pixels_of_tile() const { return tiles_.images() * tiles_.rows() * p_.wo; }

  hwy::AlignedFreeUniquePtr<float[]> room_for_x() const {
    return hwy::AllocateAligned<float>(static_cast<size_t>(tiles_.images() * image_size()));
  }

  // Adds the contribution of an item's tiles to its blocks of input channels.
  void add_tiles(const WeightSums& sums, const WeightSums::Item& item,
                 const std::vector<Lists>& lists) const {
    const auto x = room_for_x();
    for (int64_t t = item.first_tile; t < item.last_tile; ++t) {
      add_blocks(sums, item, tiles_[t], lists[static_cast<size_t>(t)], x.get());
    }
  }

  // As add_tiles, but makes the lists on the way.
  void add_tiles_at_once(const WeightSums& sums, const WeightSums::Item& item) const {
    const auto x = room_for_x();
    typename Source::Scratch scratch(source_, pixels_of_tile());
    Lists lists;
    for (int64_t t = item.first_tile; t < item.last_tile; ++t) {
      source_.list(tiles_[t], packed_pixels(), scratch, lists);
      add_blocks(sums, item, tiles_[t], lists, x.get());
    }
  }

  void add_blocks(const WeightSums& sums, const WeightSums::Item& item, const PixelTile& tile,
                  const Lists& lists, float* x) const {
    for (size_t b = item.first_block; b < item.last_block; ++b) {
      pack_x(tile, sums.block(b), x);
      add_tile(lists, x, sums.sums(item, b), sums.step(b));
    }
  }

  void add_tile(const Lists& lists, const float* x, float* sums, int64_t sums_step) const {
    const Spatial dilation = p_.geometry.dilation;
    for (int64_t r = 0; r < p_.kh; r += window_.rows) {
      for (int64_t s = 0; s < p_.kw; s += window_.columns) {
        window_.add(lists, p_.co, x + r * dilation.h * row_size() + s * dilation.w * width_,
                    dilation.h * row_size(), sums + (r * p_.kw + s) * width_, sums_step);
      }
    }
  }

  // Packs X under a tile for one block of its channels, with the padding as zeros:
  // [image][row][column][lane].
  void pack_x(const PixelTile& tile, const InputChannels& block, float* packed) const {
    const Geometry& g = p_.geometry;
    const int64_t top = tile.top * g.stride.h - g.padding.h;
    const int64_t left = std::min(g.padding.w, columns_);
    const int64_t right = std::clamp(p_.w + g.padding.w, left, columns_);
    for (int64_t image = 0; image < tile.images; ++image) {
      const float* map = x_ + (tile.image + image) * p_.h * p_.w * p_.ci + block.first;
      float* row = packed + image * image_size();
      for (int64_t y = top; y < top + rows_read(tile.rows); ++y, row += row_size()) {
        if (y < 0 || y >= p_.h) {
          std::fill_n(row, row_size(), 0.0f);
          continue;
        }
        std::fill_n(row, left * width_, 0.0f);
        const float* pixel = map + (y * p_.w + left - g.padding.w) * p_.ci;
        for (int64_t column = left; column < right; ++column, pixel += p_.ci) {
          copy_block(pixel, block, row + column * width_);
        }
        std::fill(row + right * width_, row + row_size(), 0.0f);
      }
    }
  }

  const Problem& p_;
  const float* x_;
  float* out_;
  const Source& source_;
  Window window_;
  int64_t width_;    // of a pixel of packed X: the block's vectors
  int64_t columns_;  // of packed X
  PixelTiles tiles_;
};

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
