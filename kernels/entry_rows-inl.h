// The data gradient of a dY with few entries, from any source of entries. Included once for each
// instruction set that Highway compiles for.
//
//   dX[n, i - padding + r, j - padding + s, :] += dY[n, i, j, co] W[co, r, s, :]
//
// The sum is over every entry (n, i, j, co). Skipping zeros saves only multiplications, so no other
// work may cost as much. Entries come in lists by pixel, made once for an image while it is in the
// cache. An output pixel reaches kTaps input pixels with one row of the kernel. Their sums, of up
// to four vectors of input channels each, stay in registers while the pixel moves along its row. An
// entry then costs a broadcast and one multiply-add for each vector of weights. The weights lie in
// the first-level cache, one block at a time. It has one block of output channels, one kernel row
// (or three) and one block of input channels. A block is used for all rows of an image, or of
// several where images are small.
#if defined(APPROX_KERNELS_ENTRY_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_ENTRY_ROWS_INL_H_
#undef APPROX_KERNELS_ENTRY_ROWS_INL_H_
#else
#define APPROX_KERNELS_ENTRY_ROWS_INL_H_
#endif

#include <hwy/aligned_allocator.h>
#include <hwy/highway.h>

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/memory_pool.h"
#include "kernels/team.h"
#include "products/problem.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// The entries of some pixels: a list for each block of output channels, in the order of the pixels.
class PixelEntries {
 public:
  // `channels` output channels in blocks of `block`.
  PixelEntries(int64_t pixels, int64_t channels, int64_t block, int32_t step)
      : pixels_(pixels),
        channels_(channels),
        block_(block),
        step_(step),
        // The last store may write past the end.
        room_(pixels * block + static_cast<int64_t>(hn::Lanes(Floats()))),
        values_(hwy::AllocateAligned<float>(static_cast<size_t>(blocks() * room_))),
        places_(hwy::AllocateAligned<int32_t>(static_cast<size_t>(blocks() * room_))),
        begin_(static_cast<size_t>(blocks() * (pixels + 1))) {}

  int64_t pixels() const { return pixels_; }
  int64_t blocks() const { return (channels_ + block_ - 1) / block_; }
  int64_t first_channel(int64_t b) const { return b * block_; }
  int64_t channels_of(int64_t b) const { return std::min(block_, channels_ - b * block_); }

  float* values(int64_t b) { return values_.get() + b * room_; }
  // The channel of each entry, counted from the first of the block, times step().
  int32_t* places(int64_t b) { return places_.get() + b * room_; }
  int32_t step() const { return step_; }
  // Where each pixel's entries begin, and where the last one's end.
  int32_t* begin(int64_t b) { return begin_.data() + b * (pixels_ + 1); }

 private:
  int64_t pixels_, channels_, block_;
  int32_t step_;
  int64_t room_;
  hwy::AlignedFreeUniquePtr<float[]> values_;
  hwy::AlignedFreeUniquePtr<int32_t[]> places_;
  std::vector<int32_t> begin_;
};

// The entries of a row of pixels for one block of output channels.
struct EntryRow {
  const float* value;
  // Where the entry's weights begin in the block; one element past the end is read.
  const int32_t* weights;
  const int32_t* begin;  // begin of each pixel's entries, and end of the last
};

// Neighbouring rows of dX for one block of input channels: pixel j of row r is at
// `pixels + r * row_step + j * step`.
struct SumRows {
  float* pixels;
  int64_t row_step, step, width;
  bool on_map[3];  // for each row; the others lie outside the map
  // Whether nothing has been added to the row yet, so that its memory is uninitialised.
  bool fresh[3];
};

// Calls body(std::integral_constant<int, i>()) for each i in [0, kCount). Arrays indexed by these
// constants stay in registers, which a loop does not guarantee.
template <int kCount, typename Body>
HWY_INLINE void unrolled(Body body) {
  [&]<int... i>(std::integer_sequence<int, i...>) __attribute__((always_inline)) {
    (body(std::integral_constant<int, i>()), ...);
  }
  (std::make_integer_sequence<int, kCount>());
}

// Adds the contribution of one row of dY to kRows rows of dX, through as many rows of the kernel.
// The window of sums follows the pixels without moving data: sums are renamed, and after kTaps
// pixels they have their first meaning again.
template <int kRows, int kTaps, int kStride, int kVectors>
HWY_NOINLINE void add_row(const EntryRow& entries, int64_t count, const float* HWY_RESTRICT weights,
                          const SumRows& sums, int64_t padding) {
  const Floats d;
  constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));
  constexpr int kLeaving = std::min(kTaps, kStride);  // when the window moves on
  Vector sum[kRows][kTaps][kVectors];
  // The offset of the next entry's weights is read one entry ahead. A load whose address has just
  // been loaded would keep multiply-adds waiting.
  int32_t next_weights = entries.weights[entries.begin[0]];
  const auto place = [&](int r, int64_t j) __attribute__((always_inline)) {
    return sums.pixels + r * sums.row_step + j * sums.step;
  };
  const auto enter = [&](int64_t j, auto k) __attribute__((always_inline)) {
    const bool inside = j >= 0 && j < sums.width;
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      const bool old = inside && sums.on_map[r] && !sums.fresh[r];
      const float* from = place(r, j);
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
        sum[r][k][v] = old ? hn::LoadU(d, from + v * kLanes) : hn::Zero(d);
      });
    });
  };
  const auto leave = [&](int64_t j, auto k) __attribute__((always_inline)) {
    if (j < 0 || j >= sums.width) return;
    unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
      if (!sums.on_map[r]) return;
      float* to = place(r, j);
      unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
        hn::StoreU(sum[r][k][v], d, to + v * kLanes);
      });
    });
  };
  // Adds the entries of pixel j, whose window begins at `left`, to the sums of `phase`.
  const auto add = [&](int64_t j, int64_t left, auto phase) __attribute__((always_inline)) {
    const int32_t end = entries.begin[j + 1];
    for (int32_t e = entries.begin[j]; e < end; ++e) {
      const auto value = hn::Set(d, entries.value[e]);
      const float* own = weights + next_weights;
      next_weights = entries.weights[e + 1];
      unrolled<kRows>([&](auto r) __attribute__((always_inline)) {
        unrolled<kTaps>([&](auto k) __attribute__((always_inline)) {
          unrolled<kVectors>([&](auto v) __attribute__((always_inline)) {
            auto& own_sum = sum[r][(k + phase * kStride) % kTaps][v];
            own_sum = hn::MulAdd(
                value, hn::Load(d, own + ((r * kTaps + k) * kVectors + v) * kLanes), own_sum);
          });
        });
      });
    }
    unrolled<kLeaving>([&](auto k) __attribute__((always_inline)) {
      using Own =
          std::integral_constant<int,
                                 (decltype(k)::value + decltype(phase)::value * kStride) % kTaps>;
      leave(left + k, Own());
      enter(left + kStride + kTaps - kLeaving + k, Own());
    });
  };
  int64_t left = -padding;
  unrolled<kTaps>([&](auto k) __attribute__((always_inline)) { enter(left + k, k); });
  int64_t j = 0;
  for (; j + kTaps <= count; j += kTaps) {
    unrolled<kTaps>([&](auto phase) __attribute__((always_inline)) {
      add(j + phase, left, phase);
      left += kStride;
    });
  }
  // The remaining pixels and sums, in the order of the phase in which the window ends.
  const auto finish = [&](auto pixels) __attribute__((always_inline)) {
    unrolled<decltype(pixels)::value>([&](auto phase) __attribute__((always_inline)) {
      add(j + phase, left, phase);
      left += kStride;
    });
    unrolled<kTaps>([&](auto k) __attribute__((always_inline)) {
      using Own =
          std::integral_constant<int,
                                 (decltype(k)::value + decltype(pixels)::value * kStride) % kTaps>;
      leave(left + k, Own());
    });
  };
  unrolled<kTaps>([&](auto rest) __attribute__((always_inline)) {
    if (count - j == rest) finish(rest);
  });
}

using AddRow = void (*)(const EntryRow&, int64_t, const float*, const SumRows&, int64_t);

// By [log2 of vectors]. Five taps of four vectors would need more than sixteen registers.
template <int kTaps, int kStride>
constexpr AddRow kAddRow[3] = {add_row<1, kTaps, kStride, 1>, add_row<1, kTaps, kStride, 2>,
                               add_row<1, kTaps, kStride, kTaps == 5 ? 2 : 4>};

inline AddRow add_row_of(const Problem& p, int64_t rows, int log_vectors) {
  if (rows == 3) return add_row<3, 3, 1, 1>;
  const bool moves_by_one = p.geometry.stride.w == 1;
  switch (p.kw) {
    case 1:
      return (moves_by_one ? kAddRow<1, 1> : kAddRow<1, 2>)[log_vectors];
    case 3:
      return (moves_by_one ? kAddRow<3, 1> : kAddRow<3, 2>)[log_vectors];
    default:
      return (moves_by_one ? kAddRow<5, 1> : kAddRow<5, 2>)[log_vectors];
  }
}

// Input channels [first, first + (1 << log_vectors) * lanes).
struct InputBlock {
  int64_t first;
  int log_vectors;
};

// `Source` gives the entries by
//   void list(int64_t first_pixel, PixelEntries&) const
// for the pixels from `first_pixel` on, which are those of whole images. Several threads call it.
template <typename Source>
class RowsDataGradient {
 public:
  // w [Co,Kh,Kw,Ci] and out [N,H,W,Ci], as kernels/variant.h has them.
  RowsDataGradient(const Problem& problem, const float* w, float* out, const Source& source)
      : p_(problem),
        w_(w),
        out_(out),
        source_(source),
        lanes_(static_cast<int64_t>(hn::Lanes(Floats()))),
        every_pixel_(p_.geometry.stride == Spatial(1)) {
    // With few channels, three rows of the kernel are done together: fewer than eight sums would
    // leave multiply-adds waiting for each other.
    if (p_.ci == 16 && p_.kh == 3 && p_.kw == 3 && every_pixel_) rows_ = 3;
    const int widest = rows_ == 3 ? 0 : p_.kw == 5 ? 1 : 2;
    for (int64_t first = 0; first < p_.ci;) {
      int log_vectors = widest;
      while (log_vectors > 0 && first + (lanes_ << log_vectors) > p_.ci) --log_vectors;
      inputs_.push_back({first, log_vectors});
      first += lanes_ << log_vectors;
    }
    // Weights of a block fit into a first-level cache of 48 KiB. Smaller blocks would visit each
    // pixel more often, with fewer entries at a time.
    constexpr int64_t kWeightFloats = 12 << 10;
    const int64_t per_channel = rows_ * p_.kw * width_of(inputs_.front());
    block_ = std::clamp(kWeightFloats / per_channel / lanes_ * lanes_, lanes_,
                        (p_.co + lanes_ - 1) / lanes_ * lanes_);
    blocks_ = (p_.co + block_ - 1) / block_;
    constexpr int64_t kGroupPixels = 128;  // pixels that share weights while these are in the cache
    images_ = std::clamp<int64_t>(kGroupPixels / std::max<int64_t>(1, p_.ho * p_.wo), 1, p_.n);
  }

  void compute(const Team& team) const {
    auto weights = hwy::AllocateAligned<float>(static_cast<size_t>(p_.co * p_.kh * p_.kw * p_.ci));
    team.share(p_.co, [&](int64_t channel) { pack_weights(channel, weights.get()); });
    MemoryPool<GroupMemory> memories;
    team.share((p_.n + images_ - 1) / images_, [&](int64_t group) {
      const int64_t first = group * images_, count = std::min(images_, p_.n - first);
      const auto of_group = [&](int64_t images) {
        const int32_t step = weights_of_channel(inputs_.front());
        return GroupMemory{PixelEntries(images * p_.ho * p_.wo, p_.co, block_, step), {}};
      };
      if (count < images_) {  // the last group
        auto memory = of_group(count);
        return add_images(first, count, weights.get(), memory);
      }
      auto memory = memories.take([&] { return of_group(images_); });
      add_images(first, count, weights.get(), memory);
      memories.give_back(std::move(memory));
    });
  }

 private:
  // The memory of one thread for a group of images.
  struct GroupMemory {
    PixelEntries entries;
    std::vector<int32_t> in_narrow_block;
  };

  int64_t width_of(const InputBlock& block) const { return lanes_ << block.log_vectors; }
  // Numbers from the packed weights of one output channel to those of the next.
  int32_t weights_of_channel(const InputBlock& block) const {
    return static_cast<int32_t>(rows_ * p_.kw * width_of(block));
  }
  int64_t channels_of(int64_t block) const { return std::min(block_, p_.co - block * block_); }

  // Packed weights: [output block][input block][kernel rows][output channel][row][tap][input
  // channel].
  int64_t weights_at(int64_t block, const InputBlock& input, int64_t row) const {
    const int64_t channels = channels_of(block);
    return block * block_ * p_.kh * p_.kw * p_.ci + channels * p_.kh * p_.kw * input.first +
           row / rows_ * rows_ * channels * p_.kw * width_of(input);
  }

  void pack_weights(int64_t channel, float* packed) const {
    const int64_t block = channel / block_;
    for (const auto& input : inputs_) {
      const int64_t width = width_of(input);
      for (int64_t r = 0; r < p_.kh; ++r) {
        float* to = packed + weights_at(block, input, r) +
                    (channel % block_ * rows_ + r % rows_) * p_.kw * width;
        for (int64_t s = 0; s < p_.kw; ++s) {
          std::copy_n(w_ + ((channel * p_.kh + r) * p_.kw + s) * p_.ci + input.first, width,
                      to + s * width);
        }
      }
    }
  }

  // dX of images [first, first + count).
  void add_images(int64_t first, int64_t count, const float* weights, GroupMemory& memory) const {
    auto& [entries, in_narrow_block] = memory;
    const int64_t pixels = entries.pixels();
    // Offsets of an entry's weights in its block.
    const int32_t step = entries.step();
    source_.list(first * p_.ho * p_.wo, entries);
    const int64_t pad = p_.geometry.padding.h, stride = p_.geometry.stride.h;
    float* maps = out_ + first * p_.h * p_.w * p_.ci;
    if (!every_pixel_) std::fill_n(maps, count * p_.h * p_.w * p_.ci, 0.0f);
    for (int64_t b = 0; b < blocks_; ++b) {
      const int32_t* starts = entries.begin(b);
      for (const auto& input : inputs_) {
        // The last blocks of input channels may have fewer vectors than the first.
        const int32_t* places = entries.places(b);
        if (const int32_t own = weights_of_channel(input); own != step) {
          in_narrow_block.resize(static_cast<size_t>(starts[pixels]) + 1);  // see EntryRow
          std::transform(places, places + starts[pixels], in_narrow_block.begin(),
                         [&](int32_t place) { return place / step * own; });
          places = in_narrow_block.data();
        }
        const auto add = add_row_of(p_, rows_, input.log_vectors);
        for (int64_t r = 0; r < p_.kh; r += rows_) {
          const float* own = weights + weights_at(b, input, r);
          for (int64_t image = 0; image < count; ++image) {
            float* map = maps + image * p_.h * p_.w * p_.ci + input.first;
            // Output rows for which one of the rows y, y + 1, ... is on the map.
            const int64_t top = std::max<int64_t>(0, (pad - r - rows_ + stride) / stride);
            const int64_t bottom = std::min(p_.ho, (p_.h + pad - r + stride - 1) / stride);
            for (int64_t i = top; i < bottom; ++i) {
              const int64_t y = i * stride - pad + r;
              const SumRows sums = rows_from(map, y, r, b == 0);
              add({entries.values(b), places, starts + (image * p_.ho + i) * p_.wo}, p_.wo, own,
                  sums, p_.geometry.padding.w);
            }
          }
        }
      }
    }
  }

  // The rows of a map from y on, which rows r and on of the kernel reach. A row is fresh when the
  // first kernel rows that reach it do so from the first output row.
  SumRows rows_from(float* map, int64_t y, int64_t r, bool first_block) const {
    const int64_t pad = p_.geometry.padding.h;
    SumRows sums = {map + y * p_.w * p_.ci, p_.w * p_.ci, p_.ci, p_.w, {}, {}};
    for (int64_t k = 0; k < rows_; ++k, ++y) {
      const int64_t first = std::max<int64_t>(0, y + pad - p_.ho + 1) / rows_ * rows_;
      sums.on_map[k] = y >= 0 && y < p_.h;
      sums.fresh[k] = every_pixel_ && first_block && r == first &&
                      r + k == std::min(first + rows_ - 1, y + pad);
    }
    return sums;
  }

  const Problem& p_;
  const float* w_;
  float* out_;
  const Source& source_;
  int64_t lanes_;
  int64_t rows_ = 1;  // kernel rows done together
  bool every_pixel_;  // whether some tap reaches every pixel of dX
  std::vector<InputBlock> inputs_;
  int64_t block_ = 0, blocks_ = 0;  // output channels of a block, and number of blocks
  int64_t images_ = 1;              // images done together
};

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
