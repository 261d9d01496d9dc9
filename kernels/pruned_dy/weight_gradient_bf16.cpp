// The weight gradient of a dY in bfloat16 that holds many zeros, for processors with AVX512_BF16.
//
//   dW[co, r, s, :] += dY[n, i, j, co] X[n, i stride - padding + r dilation, j ..., :]
//
// dY lies by pixel; its entries are listed by tile of pixels and output channel. Two entries of a
// list go together (kernels/pruned_dy/bf16_pairs.h): their pixels of X are interleaved and multiply
// the pair of their values, for all taps of a window whose sums stay in registers. X under a tile
// is packed with its padding as zeros, so that one number tells where the pixels of an entry are,
// the same for every block of input channels. Sums stay in float until the end.
#include <hwy/highway.h>

#include "kernels/pruned_dy/pruned_dy.h"

#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <vector>

#include "kernels/memory_pool.h"
#include "kernels/pixel_tiles.h"
#include "kernels/pruned_dy/bf16_lists.h"
#include "kernels/pruned_dy/bf16_pairs.h"

namespace approx {
namespace {

// Input channels that fill half a vector: a pixel of packed X is followed by its right neighbour,
// and a vector reaches two taps of a row.
constexpr int64_t kHalfPart = kPart / 2;
bool by_neighbours(const Problem& p) { return p.ci == kHalfPart; }

// Output pixels in tiles, and how X under a tile is packed: [image][row][column][lane], `width`
// lanes of a pixel. Behind it come zeros as far as the taps of one entry reach.
struct PackedTiles {
  PackedTiles(const Problem& p, int64_t pixel_width)
      : problem(p),
        width(pixel_width),
        columns((p.wo - 1) * p.geometry.stride.w + (p.kw - 1) * p.geometry.dilation.w + 1),
        tiles(tiles_of_cache()) {}

  // As large as a first-level cache of 48 KiB holds of X beside its lists.
  PixelTiles tiles_of_cache() const {
    constexpr int64_t kNumbers = 20 << 10;
    int64_t rows = 1;
    while (rows < problem.ho && rows_read(rows + 1) * row_size() <= kNumbers) ++rows;
    const int64_t of_column = (problem.ho + rows - 1) / rows;  // of about the same size
    rows = (problem.ho + of_column - 1) / of_column;
    return {problem, rows, kNumbers / (rows_read(rows) * row_size())};
  }

  // Rows of X, padding counted, that so many output rows read.
  int64_t rows_read(int64_t rows) const {
    const Geometry& g = problem.geometry;
    return (rows - 1) * g.stride.h + (problem.kh - 1) * g.dilation.h + 1;
  }
  int64_t row_size() const { return columns * width; }
  int64_t image_size() const { return rows_read(tiles.rows()) * row_size(); }
  int64_t pixels() const { return tiles.images() * tiles.rows() * problem.wo; }  // at most

  int64_t zeros_at() const { return tiles.images() * image_size(); }
  int64_t zeros() const {
    const Geometry& g = problem.geometry;
    return (rows_read(1) - 1) * row_size() + (problem.kw - 1) * g.dilation.w * width + width;
  }

  const Problem& problem;
  int64_t width, columns;
  PixelTiles tiles;
};

}  // namespace
}  // namespace approx

HWY_PUSH_ATTRIBUTES(APPROX_PAIRS_TARGET)
namespace approx {
namespace {

// Lists of a tile that were made beforehand lie in a far cache, with gaps between them that the
// processor does not look beyond by itself.
APPROX_INLINE inline void prefetch_list(const TileLists& lists, int64_t channel) {
  const int64_t most = std::min<int64_t>(lists.end[channel], 4 * kPart);  // further on it does
  for (int64_t i = 0; i < most; i += kPart) {
    _mm_prefetch(lists.value + channel * lists.room + i, _MM_HINT_T0);
    _mm_prefetch(lists.place + channel * lists.room + i, _MM_HINT_T0);
  }
}

// sums[co, :] += what the entries of each output channel give to a window of kRows x kColumns taps
// of kVectors vectors each, which lie kStep vectors apart. Rows of packed X lie row_step numbers
// apart, the sums of two output channels sums_step.
template <int kRows, int kColumns, int kVectors, int kStep = 1>
__attribute__((noinline)) void add_pair_lists(const TileLists& lists, int64_t channels,
                                              const uint16_t* __restrict x, int64_t row_step,
                                              float* __restrict sums, int64_t sums_step) {
  constexpr int kAcross = kColumns * kVectors;
  for (int64_t c = 0; c < channels; ++c, sums += sums_step) {
    // uint16_t by twos are a pair; lists begin at even places.
    const auto* value = reinterpret_cast<const uint32_t*>(lists.value + c * lists.room);
    const auto* place = reinterpret_cast<const uint32_t*>(lists.place + c * lists.room);
    const int64_t end = lists.end[c] / 2;
    if (end == 0) continue;
    if (c + 1 < channels) prefetch_list(lists, c + 1);
    __m512 sum[kRows][kAcross][2];
    unrolled_pairs<kRows * kAcross * 2>([&](auto i) APPROX_INLINE {
      sum[i / 2 / kAcross][i / 2 % kAcross][i % 2] = _mm512_load_ps(sums + i * (kPart / 2));
    });
    // The place of the next pair is read one pair ahead: a load whose address has just been loaded
    // keeps the products waiting. The asm keeps the compiler from moving that read behind them.
    uint32_t next_place = place[0];
    for (int64_t e = 0; e < end; ++e) {
      const uint32_t here = next_place;
      next_place = place[e + 1];
      asm("" : "+r"(next_place));
      const __m512i pair = _mm512_set1_epi32(static_cast<int>(value[e]));
      const uint16_t* one = x + (here & 0xFFFF) * kPlaceUnit;
      const uint16_t* other = x + (here >> 16) * kPlaceUnit;
      unrolled_pairs<kRows>([&](auto r) APPROX_INLINE {
        const uint16_t *one_row = one + r * row_step, *other_row = other + r * row_step;
        unrolled_pairs<kAcross>([&](auto k) APPROX_INLINE {
          add_pair(pair, one_row + k * (kStep * kPart), other_row + k * (kStep * kPart), sum[r][k]);
        });
      });
    }
    unrolled_pairs<kRows * kAcross * 2>([&](auto i) APPROX_INLINE {
      _mm512_store_ps(sums + i * (kPart / 2), sum[i / 2 / kAcross][i / 2 % kAcross][i % 2]);
    });
  }
}

// A window of taps that is moved over the kernel, and how many vectors of input channels it has.
// `columns` is how many vectors of taps a row has: by neighbours two taps share one.
struct PairWindow {
  int64_t rows, columns, vectors;
  void (*add)(const TileLists&, int64_t, const uint16_t*, int64_t, float*, int64_t);
};

template <int kRows, int kColumns, int kVectors>
constexpr PairWindow kPairWindow = {kRows, kColumns, kVectors,
                                    add_pair_lists<kRows, kColumns, kVectors>};

// Eight to twenty sums hide what a product takes, and 32 registers hold them. All blocks of input
// channels have the same number of vectors, so that an entry's place is the same in each.
PairWindow pair_window_of(const Problem& p) {
  if (by_neighbours(p)) return {3, 2, 1, add_pair_lists<3, 2, 1, 2>};
  const int64_t vectors = p.ci / kPart;
  if (p.geometry.dilation.w == 1 && p.kw == 3) {
    if (p.kh == 3) return kPairWindow<3, 3, 1>;
    return vectors % 2 == 0 ? kPairWindow<1, 3, 2> : kPairWindow<1, 3, 1>;
  }
  if (p.geometry.dilation.w == 1 && p.kw == 5) {
    return vectors % 2 == 0 ? kPairWindow<1, 5, 2> : kPairWindow<1, 5, 1>;
  }
  if (p.geometry.dilation.w == 1 && p.kw == 7) return kPairWindow<1, 7, 1>;
  if (vectors % 4 == 0) return kPairWindow<1, 1, 4>;
  return vectors % 2 == 0 ? kPairWindow<1, 1, 2> : kPairWindow<1, 1, 1>;
}

// The sums of the parts of a group of blocks, added in the order of the parts, so that the result
// is the same on any number of threads. Threads hand their sums over and go on; one of them adds.
class PartSums {
 public:
  using Sums = AlignedNumbers<float>;

  explicit PartSums(int64_t parts) : waiting_(static_cast<size_t>(parts)) {}

  // Takes over `size` sums of a part. Returns all of them if this call adds the last part,
  // otherwise null.
  Sums add(int64_t part, Sums sums, int64_t size, MemoryPool<Sums>& pool) {
    std::unique_lock lock(mutex_);
    waiting_[static_cast<size_t>(part)] = std::move(sums);
    if (is_adding_) return nullptr;
    is_adding_ = true;
    while (next_ < waiting_.size() && waiting_[next_] != nullptr) {
      Sums more = std::move(waiting_[next_++]);
      lock.unlock();
      if (all_ == nullptr) {
        all_ = std::move(more);
      } else {
        for (int64_t i = 0; i < size; i += kPart / 2) {
          _mm512_store_ps(all_.get() + i, _mm512_add_ps(_mm512_load_ps(all_.get() + i),
                                                        _mm512_load_ps(more.get() + i)));
        }
        pool.give_back(std::move(more));
      }
      lock.lock();
    }
    is_adding_ = false;
    return next_ == waiting_.size() ? std::move(all_) : nullptr;
  }

 private:
  std::mutex mutex_;
  std::vector<Sums> waiting_;  // by part
  size_t next_ = 0;            // part to be added
  bool is_adding_ = false;
  Sums all_;  // of the thread that adds
};

class PairsWeightGradient {
 public:
  explicit PairsWeightGradient(const Arguments<PrunedDY, BFloat16>& args)
      : p_(args.problem),
        x_(&args.x->bits),
        dy_(&args.dy->bits),
        out_(&args.out->bits),
        window_(pair_window_of(p_)),
        width_(window_.vectors * kPart),
        blocks_(by_neighbours(p_) ? 1 : p_.ci / width_),
        packed_(p_, width_),
        taps_(by_neighbours(p_) ? window_.columns : p_.kw),
        block_size_(p_.co * p_.kh * taps_ * width_) {
    // Enough items for several threads, and no more memory for their sums than caches hold with
    // ease. (32 items took up to a tenth longer: more sums to add, or lists to read again.)
    constexpr int64_t kItems = 16, kMostSums = 2 << 20;
    // One tap uses a list up nearly as fast as it is made, and lists that lie in memory until
    // several items have read them take longer: fewer items, with more memory for sums.
    const bool one_tap = p_.kh * p_.kw == 1;
    const int64_t tiles = packed_.tiles.count(), sums = blocks_ * block_size_;
    parts_ = std::clamp<int64_t>((one_tap ? 4 : 1) * kMostSums / sums, 1, std::min(kItems, tiles));
    groups_ = std::clamp<int64_t>((one_tap ? kItems / 2 : kItems) / parts_, 1, blocks_);
    place_pixels();
  }

  void compute(const Team& team) const {
    const int64_t tiles = packed_.tiles.count();
    // Lists that several items read are made beforehand.
    const bool ready = groups_ > 1;
    const ChannelLists lists(ready ? tiles : 0, p_.co, packed_.pixels());
    if (ready) team.share(tiles, [&](int64_t t) { list(packed_.tiles[t], lists.tile(t)); });
    std::deque<PartSums> sums;  // by group
    for (int64_t group = 0; group < groups_; ++group) sums.emplace_back(parts_);
    MemoryPool<TileMemory> tile_memory;
    MemoryPool<PartSums::Sums> sums_memory;
    team.share(parts_ * groups_, [&](int64_t index) {
      const int64_t part = index / groups_, group = index % groups_;
      const Item item = {tiles * part / parts_, tiles * (part + 1) / parts_,
                         blocks_ * group / groups_, blocks_ * (group + 1) / groups_};
      auto own = sums_memory.take([&] { return allocate_numbers<float>(most_sums()); });
      auto memory = tile_memory.take([&] { return new_memory(ready); });
      add_tiles(item, ready ? &lists : nullptr, memory, own.get());
      tile_memory.give_back(std::move(memory));
      const int64_t size = item.blocks() * block_size_;
      own = sums[static_cast<size_t>(group)].add(part, std::move(own), size, sums_memory);
      if (own == nullptr) return;
      write(item, own.get());
      sums_memory.give_back(std::move(own));
    });
  }

 private:
  // Tiles and blocks from `first` to before `last`.
  struct Item {
    int64_t first_tile, last_tile, first_block, last_block;
    int64_t blocks() const { return last_block - first_block; }
  };

  // What one thread needs for a tile.
  struct TileMemory {
    AlignedNumbers<uint16_t> x;
    ChannelLists lists;
  };

  TileMemory new_memory(bool ready) const {
    TileMemory memory = {allocate_numbers<uint16_t>(packed_.zeros_at() + packed_.zeros()),
                         ChannelLists(ready ? 0 : 1, p_.co, packed_.pixels())};
    std::fill_n(memory.x.get() + packed_.zeros_at(), packed_.zeros(), uint16_t{0});
    return memory;
  }

  int64_t most_sums() const { return (blocks_ + groups_ - 1) / groups_ * block_size_; }

  // Where each pixel of a tile begins in packed X. A smaller tile has the first of them.
  void place_pixels() {
    const Spatial& stride = p_.geometry.stride;
    for (int64_t image = 0; image < packed_.tiles.images(); ++image) {
      for (int64_t i = 0; i < packed_.tiles.rows(); ++i) {
        const int64_t row = image * packed_.image_size() + i * stride.h * packed_.row_size();
        for (int64_t j = 0; j < p_.wo; ++j) {
          places_.push_back(static_cast<uint16_t>((row + j * stride.w * width_) / kPlaceUnit));
        }
      }
    }
    places_.resize(places_.size() + kPart);  // vectors of them are read
  }

  void list(const PixelTile& tile, const TileLists& lists) const {
    // A tile of several images has all their rows, so its pixels lie side by side.
    const uint16_t* dy = dy_ + (tile.image * p_.ho + tile.top) * p_.wo * p_.co;
    const int64_t pixels = tile.images * tile.rows * p_.wo;
    append_pixels(dy, pixels, p_.co, places_.data(), lists);
    pair_odd_entries(p_.co, static_cast<uint16_t>(packed_.zeros_at() / kPlaceUnit), lists);
  }

  // sums = what the tiles of an item give to its blocks of input channels. `ready` are the lists of
  // all tiles, or null where each is made here.
  void add_tiles(const Item& item, const ChannelLists* ready, const TileMemory& memory,
                 float* sums) const {
    std::memset(sums, 0, static_cast<size_t>(item.blocks() * block_size_) * sizeof(float));
    for (int64_t t = item.first_tile; t < item.last_tile; ++t) {
      const PixelTile tile = packed_.tiles[t];
      const TileLists lists = ready != nullptr ? ready->tile(t) : memory.lists.tile(0);
      if (ready == nullptr) list(tile, lists);
      for (int64_t b = 0; b < item.blocks(); ++b) {
        pack_x(tile, (item.first_block + b) * width_, memory.x.get());
        add_tile(lists, memory.x.get(), sums + b * block_size_);
      }
    }
  }

  // Sums of a block: [output channel][row][taps_][number of a vector of packed X].
  void add_tile(const TileLists& lists, const uint16_t* x, float* sums) const {
    const Spatial& dilation = p_.geometry.dilation;
    for (int64_t r = 0; r < p_.kh; r += window_.rows) {
      for (int64_t s = 0; s < taps_; s += window_.columns) {
        window_.add(lists, p_.co, x + r * dilation.h * packed_.row_size() + s * dilation.w * width_,
                    dilation.h * packed_.row_size(), sums + (r * taps_ + s) * width_,
                    p_.kh * taps_ * width_);
      }
    }
  }

  // X under a tile, `width_` input channels from `channel`, the padding as zeros.
  void pack_x(const PixelTile& tile, int64_t channel, uint16_t* packed) const {
    const Geometry& g = p_.geometry;
    const int64_t top = tile.top * g.stride.h - g.padding.h;
    for (int64_t image = 0; image < tile.images; ++image) {
      const uint16_t* map = x_ + (tile.image + image) * p_.h * p_.w * p_.ci + channel;
      uint16_t* row = packed + image * packed_.image_size();
      for (int64_t y = top; y < top + packed_.rows_read(tile.rows); ++y) {
        pack_row(y < 0 || y >= p_.h ? nullptr : map + y * p_.w * p_.ci, row);
        row += packed_.row_size();
      }
    }
  }

  // A row of X; null is one of padding.
  void pack_row(const uint16_t* row, uint16_t* packed) const {
    const int64_t pad = p_.geometry.padding.w, columns = packed_.columns;
    const int64_t left = row == nullptr ? columns : std::min(pad, columns);
    const int64_t right = std::clamp(p_.w + pad, left, columns);
    clear(packed, left * width_);
    const __m512i order = packed_order();
    if (by_neighbours(p_)) {
      pack_neighbours(row, left, right, packed);
    } else {
      for (int64_t column = left; column < right; ++column) {
        const uint16_t* from = row + (column - pad) * p_.ci;
        for (int64_t v = 0; v < width_; v += kPart) {
          _mm512_store_si512(packed + column * width_ + v,
                             _mm512_permutexvar_epi16(order, _mm512_loadu_si512(from + v)));
        }
      }
    }
    clear(packed + right * width_, (columns - right) * width_);
  }

  // Columns [left, right) of a row, each pixel with its right neighbour; the column before them has
  // the first pixel as its neighbour, the last pixel of a row has none.
  void pack_neighbours(const uint16_t* row, int64_t left, int64_t right, uint16_t* packed) const {
    const __m512i order = packed_order();
    if (left > 0 && right > left) {
      const __m256i first = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(row));
      _mm512_store_si512(
          packed + (left - 1) * kPart,
          _mm512_permutexvar_epi16(order, _mm512_maskz_broadcast_i64x4(0xF0, first)));
    }
    const int64_t pad = p_.geometry.padding.w;
    for (int64_t column = left; column < right; ++column, row += kHalfPart) {
      const __mmask32 inside = column - pad + 1 < p_.w ? ~__mmask32{0} : 0xFFFF;
      _mm512_store_si512(packed + column * kPart,
                         _mm512_permutexvar_epi16(order, _mm512_maskz_loadu_epi16(inside, row)));
    }
  }

  static void clear(uint16_t* numbers, int64_t count) {
    for (int64_t i = 0; i < count; i += kPart) {
      _mm512_store_si512(numbers + i, _mm512_setzero_si512());
    }
  }

  // Writes the blocks of an item, rounded.
  void write(const Item& item, const float* sums) const {
    if (by_neighbours(p_)) return write_neighbours(sums);
    const int64_t taps = p_.co * p_.kh * p_.kw;  // of all output channels
    for (int64_t b = item.first_block; b < item.last_block; ++b) {
      for (int64_t tap = 0; tap < taps; ++tap, sums += width_) {
        uint16_t* to = out_ + tap * p_.ci + b * width_;
        for (int64_t v = 0; v < width_; v += kPart) {
          store_rounded(_mm512_load_ps(sums + v), _mm512_load_ps(sums + v + kPart / 2), to + v);
        }
      }
    }
  }

  // The two taps of a vector are neighbours in dW too; of the last vector the second is none.
  void write_neighbours(const float* sums) const {
    for (int64_t row = 0; row < p_.co * p_.kh; ++row, sums += taps_ * width_) {
      uint16_t* to = out_ + row * p_.kw * p_.ci;
      store_rounded(_mm512_load_ps(sums), _mm512_load_ps(sums + kHalfPart), to);
      _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + kPart),
                          (__m256i)_mm512_cvtneps_pbh(_mm512_load_ps(sums + kPart)));
    }
  }

  const Problem& p_;
  const uint16_t *x_, *dy_;
  uint16_t* out_;
  PairWindow window_;
  int64_t width_, blocks_;  // numbers of a pixel of packed X, and how often
  PackedTiles packed_;
  int64_t taps_;        // vectors of taps in a row of a block
  int64_t block_size_;  // sums of a block
  int64_t parts_ = 1, groups_ = 1;
  std::vector<uint16_t> places_;
};

void pair_weight_gradient(const Arguments<PrunedDY, BFloat16>& args, const Team& team) {
  PairsWeightGradient(args).compute(team);
}

}  // namespace
}  // namespace approx
HWY_POP_ATTRIBUTES

namespace approx {
namespace {

bool pair_lists_fit(const Problem& p) {
  if (!has_bf16_products() || !p.one_group()) return false;
  const bool fits_neighbours =
      by_neighbours(p) && p.kh == 3 && p.kw == 3 && p.geometry.dilation.w == 1;
  if (p.ci % kPart != 0 && !fits_neighbours) return false;
  if (p.n * p.ho * p.wo * p.ci * p.co == 0) return false;
  const PackedTiles packed(p, pair_window_of(p).vectors * kPart);
  return packed.zeros_at() / kPlaceUnit <= 0xFFFF;  // a place has 16 bits
}

REGISTER_KERNEL(PrunedDY, "pair_lists_bf16", pair_weight_gradient)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .where(pair_lists_fit)
    .ruled_against("exact")
    .rank(0);

}  // namespace
}  // namespace approx
#endif
