// The weight gradient of a dY that holds many zeros, for every instruction set that Highway knows.
//
//   dW[co, r, s, :] += dY[n, i, j, co] X[n, i stride - padding + r dilation, j ..., :]
//
// for every entry (n, i, j, co) that is not zero. Entries are compacted once, without a branch,
// into lists by tile of pixels and output channel, and used up tile by tile while they are in the
// cache: read from memory again for each block of input channels they take a fifth of the time. A
// list is then a run of sums that stay in registers: all taps of the kernel by one vector of input
// channels, or as many taps of a row and vectors as registers hold. An entry costs a broadcast and
// one multiply-add for each of them, with X read from the first-level cache: a tile of it is packed
// with its padding as zeros, so that where an entry's pixels stand is one number, the same for
// every block of input channels.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pruned_dy/weight_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/pruned_dy/entries-inl.h"
#include "kernels/weight_sums-inl.h"
// clang-format on

#include <hwy/aligned_allocator.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/pixel_tiles.h"
#include "kernels/pruned_dy/pruned_dy.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// The entries of a tile, output channel after output channel.
struct Lists {
  void reserve(int64_t entries) {
    value = std::make_unique_for_overwrite<float[]>(static_cast<size_t>(entries));
    at = std::make_unique_for_overwrite<int32_t[]>(static_cast<size_t>(entries));
  }

  std::unique_ptr<float[]> value;
  std::unique_ptr<int32_t[]> at;  // where the pixels begin that an entry reads, in packed X
  std::vector<int32_t> begin;     // of each channel's entries, and the end of the last
};

// sums[co, :] += what the entries of each output channel give to a window of kRows x kColumns taps
// of kVectors vectors each. Rows of packed X lie row_step numbers apart, the sums of two output
// channels sums_step.
template <int kRows, int kColumns, int kVectors>
HWY_NOINLINE void add_lists(const Lists& lists, int64_t channels, const float* HWY_RESTRICT x,
                            int64_t row_step, float* HWY_RESTRICT sums, int64_t sums_step) {
  const Floats d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
  constexpr int kAcross = kColumns * kVectors;
  const float* value = lists.value.get();
  const int32_t* at = lists.at.get();
  for (int64_t c = 0; c < channels; ++c, sums += sums_step) {
    const int32_t end = lists.begin[static_cast<size_t>(c) + 1];
    int32_t e = lists.begin[static_cast<size_t>(c)];
    if (e == end) continue;
    Vector sum[kRows][kAcross];
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

// A window of taps that is moved over the kernel, and how many vectors of input channels it has.
struct Window {
  int64_t rows, columns, vectors;
  void (*add)(const Lists&, int64_t, const float*, int64_t, float*, int64_t);
};

template <int kRows, int kColumns, int kVectors>
constexpr Window kWindow = {kRows, kColumns, kVectors, add_lists<kRows, kColumns, kVectors>};

// Nine to twelve sums hide what a multiply-add takes, and sixteen registers hold them. All blocks
// of input channels have the same number of vectors, so that an entry's place is the same in each.
Window window_of(const Problem& p) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(Floats()));
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

class SparseWeightGradient {
 public:
  explicit SparseWeightGradient(const Arguments<PrunedDY, float>& args)
      : args_(args),
        p_(args.problem),
        window_(window_of(p_)),
        width_(InputChannels{0, 0, window_.vectors}.width()),
        columns_((p_.wo - 1) * p_.geometry.stride.w + (p_.kw - 1) * p_.geometry.dilation.w + 1),
        tiles_(tiles_of_cache()) {}

  void compute(const Team& team) const {
    const int64_t tiles = tiles_.count();
    const WeightSums sums(p_, window_.vectors, tiles);
    if (sums.items_of_tile() == 1) {
      // The lists of a tile are used up while they are in the cache, and never lie in memory.
      sums.compute(
          team, [&](const WeightSums::Item& item) { add_tiles_at_once(sums, item); }, args_.out);
      return;
    }
    std::vector<Lists> lists(static_cast<size_t>(tiles));
    const int64_t shares = std::min<int64_t>(tiles, 64);
    team.share(shares, [&](int64_t share) {
      Entries entries(entries_of_tile());
      for (int64_t t = tiles * share / shares; t < tiles * (share + 1) / shares; ++t) {
        compact_tile(tiles_[t], entries);
        auto& own = lists[static_cast<size_t>(t)];
        own.reserve(entries.count);
        deal_out(entries, own);
      }
    });
    sums.compute(
        team, [&](const WeightSums::Item& item) { add_tiles(sums, item, lists); }, args_.out);
  }

 private:
  // As large as a first-level cache holds of X: 40 of 48 KiB where vectors have 64 bytes, 20 of 32
  // where they have 32.
  PixelTiles tiles_of_cache() const {
    const int64_t room = 640 * InputChannels{0, 0, 1}.width();
    int64_t rows = 1;
    while (rows < p_.ho && rows_read(rows + 1) * row_size() <= room) ++rows;
    const int64_t of_column = (p_.ho + rows - 1) / rows;  // of about the same size
    rows = (p_.ho + of_column - 1) / of_column;
    return {p_, rows, room / (rows_read(rows) * row_size())};
  }

  // Rows of X, padding counted, that so many output rows read.
  int64_t rows_read(int64_t rows) const {
    return (rows - 1) * p_.geometry.stride.h + (p_.kh - 1) * p_.geometry.dilation.h + 1;
  }

  int64_t row_size() const { return columns_ * width_; }
  int64_t image_size() const { return rows_read(tiles_.rows()) * row_size(); }

  // Room for the entries of a tile, pixel after pixel.
  struct Entries {
    explicit Entries(int64_t most)
        : room(static_cast<size_t>(most) + hn::Lanes(Floats())),  // the last store may run over
          value(hwy::AllocateAligned<float>(room)),
          channel(hwy::AllocateAligned<int32_t>(room)),
          at(hwy::AllocateAligned<int32_t>(room)) {}

    size_t room;
    hwy::AlignedFreeUniquePtr<float[]> value;
    hwy::AlignedFreeUniquePtr<int32_t[]> channel, at;
    int32_t count = 0;
  };

  void compact_tile(const PixelTile& tile, Entries& entries) const {
    entries.count = 0;
    for (int64_t image = 0; image < tile.images; ++image) {
      const float* dy = args_.dy + ((tile.image + image) * p_.ho + tile.top) * p_.wo * p_.co;
      for (int64_t i = 0; i < tile.rows; ++i) {
        int64_t at = image * image_size() + i * p_.geometry.stride.h * row_size();
        for (int64_t j = 0; j < p_.wo; ++j, dy += p_.co, at += p_.geometry.stride.w * width_) {
          const int32_t first = entries.count;
          entries.count +=
              compact<true>(dy, p_.co, entries.value.get() + first, entries.channel.get() + first,
                            entries.at.get() + first, static_cast<int32_t>(at));
        }
      }
    }
  }

  // Most entries that a tile may have.
  int64_t entries_of_tile() const { return tiles_.images() * tiles_.rows() * p_.wo * p_.co; }

  // The same by output channel: counted, then dealt out.
  void deal_out(const Entries& entries, Lists& lists) const {
    // While entries are dealt out, begin[c + 1] is where the next one of channel c goes.
    lists.begin.assign(static_cast<size_t>(p_.co) + 2, 0);
    int32_t* next = lists.begin.data() + 1;
    for (int32_t e = 0; e < entries.count; ++e) ++next[entries.channel[static_cast<size_t>(e)] + 1];
    for (int64_t c = 0; c < p_.co; ++c) next[c + 1] += next[c];
    float* value = lists.value.get();
    int32_t* at = lists.at.get();
    for (int32_t e = 0; e < entries.count; ++e) {
      const auto entry = static_cast<size_t>(e);
      const int32_t to = next[entries.channel[entry]]++;
      value[to] = entries.value[entry];
      at[to] = entries.at[entry];
    }
  }

  hwy::AlignedFreeUniquePtr<float[]> room_for_x() const {
    return hwy::AllocateAligned<float>(static_cast<size_t>(tiles_.images() * image_size()));
  }

  // Adds what the tiles of an item give to its blocks of input channels.
  void add_tiles(const WeightSums& sums, const WeightSums::Item& item,
                 const std::vector<Lists>& lists) const {
    const auto x = room_for_x();
    for (int64_t t = item.first_tile; t < item.last_tile; ++t) {
      add_blocks(sums, item, tiles_[t], lists[static_cast<size_t>(t)], x.get());
    }
  }

  // The same, with the lists made on the way.
  void add_tiles_at_once(const WeightSums& sums, const WeightSums::Item& item) const {
    const auto x = room_for_x();
    Entries entries(entries_of_tile());
    Lists lists;
    lists.reserve(entries_of_tile());
    for (int64_t t = item.first_tile; t < item.last_tile; ++t) {
      compact_tile(tiles_[t], entries);
      deal_out(entries, lists);
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

  // X under a tile, one block of its channels, the padding as zeros: [image][row][column][lane].
  void pack_x(const PixelTile& tile, const InputChannels& block, float* packed) const {
    const Geometry& g = p_.geometry;
    const int64_t top = tile.top * g.stride.h - g.padding.h;
    const int64_t left = std::min(g.padding.w, columns_);
    const int64_t right = std::clamp(p_.w + g.padding.w, left, columns_);
    for (int64_t image = 0; image < tile.images; ++image) {
      const float* map = args_.x + (tile.image + image) * p_.h * p_.w * p_.ci + block.first;
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

  const Arguments<PrunedDY, float>& args_;
  const Problem& p_;
  Window window_;
  int64_t width_;    // of a pixel of packed X: the block's vectors
  int64_t columns_;  // of packed X
  PixelTiles tiles_;
};

void sparse_weight_gradient(const Arguments<PrunedDY, float>& args, const Team& team) {
  SparseWeightGradient(args).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(sparse_weight_gradient);

namespace {

void sparse_weight_gradient_anywhere(const Arguments<PrunedDY, float>& args, const Team& team) {
  HWY_DYNAMIC_DISPATCH(sparse_weight_gradient)(args, team);
}

// Measured, docs/performance.md: the largest share of dY at which no layer is slower.
bool sparse_lists_pay(const Problem& p) {
  if (p.co < 16 || p.ci < 16 || p.ho * p.wo < 4) return false;
  if (p.kh * p.kw < 9) return p.density <= (p.ci >= 512 ? 0.5 : 0.2);
  if (p.ci < 64) return p.density <= (p.ci >= 32 ? 0.4 : 0.3);
  return p.density <= (p.ho * p.wo >= 16 ? 0.5 : 0.45);
}

REGISTER_KERNEL(PrunedDY, "sparse_lists", sparse_weight_gradient_anywhere)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where([](const Problem& p) { return p.one_group() && p.n * p.ho * p.wo * p.ci * p.co > 0; })
    .pays(sparse_lists_pay)
    .rank(0);

}  // namespace
}  // namespace approx
#endif
