// The weight gradient of a dY that holds many zeros, for every instruction set that Highway knows.
// dY lies by pixel and its entries are listed by output channel: squares of as many pixels as
// channels are turned over in registers, and each channel's part compacted without a branch.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/pruned_dy/weight_gradient_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/listed_gradient-inl.h"
#include "kernels/pruned_dy/entries-inl.h"
#include "kernels/transpose-inl.h"
// clang-format on

#include <hwy/aligned_allocator.h>
#include <hwy/cache_control.h>

#include <algorithm>
#include <utility>

#include "kernels/pruned_dy/pruned_dy.h"
#include "kernels/simd_variant.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {

class PrunedEntries {
 public:
  explicit PrunedEntries(const Arguments<PrunedDY, float>& args)
      : p_(args.problem),
        dy_(args.dy),
        few_(p_.density < 0.3 && p_.co >= 128 && p_.kh * p_.kw > 1) {}

  struct Scratch {
    Scratch(const PrunedEntries& source, int64_t pixels)
        : begin(hwy::AllocateAligned<int32_t>(room(pixels))) {
      if (!source.few_) return;
      const size_t entries = room(pixels * source.p_.co);
      value = hwy::AllocateAligned<float>(entries);
      channel = hwy::AllocateAligned<int32_t>(entries);
      at = hwy::AllocateAligned<int32_t>(entries);
    }

    // The last vector may run over.
    static size_t room(int64_t size) { return static_cast<size_t>(size + kLanes); }

    hwy::AlignedFreeUniquePtr<int32_t[]> begin;  // of what each pixel of a tile reads
    // The entries of a tile, pixel after pixel, where there are few.
    hwy::AlignedFreeUniquePtr<float[]> value;
    hwy::AlignedFreeUniquePtr<int32_t[]> channel, at;
  };

  void list(const PixelTile& tile, const PackedPixels& packed, Scratch& scratch,
            Lists& lists) const {
    // Of several images a tile has all rows, so that its pixels lie side by side.
    const float* dy = dy_ + (tile.image * p_.ho + tile.top) * p_.wo * p_.co;
    const int64_t pixels = place_pixels(tile, packed, scratch.begin.get());
    lists.begin.resize(static_cast<size_t>(p_.co));
    lists.end.resize(static_cast<size_t>(p_.co));
    if (few_) {
      deal_out(compact_pixels(dy, pixels, scratch), scratch, lists);
    } else {
      turn_over(dy, pixels, scratch, lists);
    }
  }

 private:
  using Floats = SquareTag<float>;
  using Places = SquareTag<int32_t>;
  static constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(Floats()));

  // Returns how many pixels there are.
  int64_t place_pixels(const PixelTile& tile, const PackedPixels& packed,
                       int32_t* HWY_RESTRICT begin) const {
    int64_t pixels = 0;
    for (int64_t image = 0; image < tile.images; ++image) {
      for (int64_t i = 0; i < tile.rows; ++i) {
        const auto first = static_cast<int32_t>(packed.at(image, i, 0));
        const auto step = static_cast<int32_t>(packed.column_size);
        for (int32_t j = 0; j < p_.wo; ++j) begin[pixels++] = first + j * step;
      }
    }
    return pixels;
  }

  // Few entries: compacted by pixel, then dealt out, so that lists lie side by side.
  int32_t compact_pixels(const float* HWY_RESTRICT dy, int64_t pixels, Scratch& entries) const {
    int32_t count = 0;
    for (int64_t pixel = 0; pixel < pixels; ++pixel, dy += p_.co) {
      count += compact<true>(dy, p_.co, /*step=*/1, entries.value.get() + count,
                             entries.channel.get() + count, entries.at.get() + count,
                             entries.begin[static_cast<size_t>(pixel)]);
    }
    return count;
  }

  void deal_out(int32_t count, const Scratch& entries, Lists& lists) const {
    lists.reserve(count);
    // While they are dealt out, end[c] is where the next entry of channel c goes.
    int32_t* end = lists.end.data();
    std::fill(lists.end.begin(), lists.end.end(), 0);
    for (int32_t e = 0; e < count; ++e) ++end[entries.channel[static_cast<size_t>(e)]];
    int32_t before = 0;
    for (int64_t c = 0; c < p_.co; ++c) {
      lists.begin[static_cast<size_t>(c)] = before;
      before += std::exchange(end[c], before);
    }
    float* value = lists.value.get();
    int32_t* at = lists.at.get();
    for (int32_t e = 0; e < count; ++e) {
      const auto entry = static_cast<size_t>(e);
      const int32_t to = end[entries.channel[entry]]++;
      value[to] = entries.value[entry];
      at[to] = entries.at[entry];
    }
  }

  // Many: each list has room for all pixels and for the last store, which runs over, and squares of
  // dY are appended to the lists of their channels.
  void turn_over(const float* HWY_RESTRICT dy, int64_t pixels, const Scratch& scratch,
                 Lists& lists) const {
    const int64_t room = pixels + kLanes;
    lists.reserve(p_.co * room);
    for (int64_t c = 0; c < p_.co; ++c) {
      lists.begin[static_cast<size_t>(c)] = static_cast<int32_t>(c * room);
    }
    lists.end = lists.begin;
    // So many channels that the ends of their lists stay in the cache.
    constexpr int64_t kAtOnce = 16 * kLanes;
    for (int64_t c = 0; c < p_.co; c += kAtOnce) {
      const int64_t last = std::min(c + kAtOnce, p_.co);
      for (int64_t pixel = 0; pixel < pixels; pixel += kLanes) {
        for (int64_t of = c; of < last; of += kLanes) {
          append_square(dy + pixel * p_.co + of, std::min(kLanes, pixels - pixel),
                        std::min(kLanes, last - of), scratch.begin.get() + pixel,
                        lists.end.data() + of, lists);
        }
      }
    }
  }

  // Up to a vector of channels at up to as many pixels.
  HWY_INLINE void append_square(const float* HWY_RESTRICT dy, int64_t pixels, int64_t channels,
                                const int32_t* HWY_RESTRICT begin, int32_t* HWY_RESTRICT end,
                                Lists& lists) const {
    const Floats d;
    const Places di;
    hn::Vec<Floats> square[kLanes];
    if (channels == kLanes && pixels == kLanes) {
      for (int64_t k = 0; k < kLanes; ++k) {
        square[k] = hn::LoadU(d, dy + k * p_.co);
        hwy::Prefetch(dy + (k + kLanes) * p_.co);  // the square below
      }
    } else {
      // Not by a masked load: that reads whole vectors, and aligned ones at that, where the
      // instruction set has none of its own.
      HWY_ALIGN float row[kLanes] = {};
      for (int64_t k = 0; k < kLanes; ++k) {
        square[k] = hn::Zero(d);
        if (k >= pixels) continue;
        std::copy_n(dy + k * p_.co, channels, row);
        square[k] = hn::Load(d, row);
      }
    }
    transpose(d, square);
    float* HWY_RESTRICT value = lists.value.get();
    int32_t* HWY_RESTRICT at = lists.at.get();
    const auto places = hn::Load(di, begin);
    for (int64_t c = 0; c < channels; ++c) {
      const auto kept = hn::Not(hn::Eq(square[c], hn::Zero(d)));  // a NaN is an entry
      store_kept(d, square[c], places, kept, value + end[c], at + end[c]);
      end[c] += static_cast<int32_t>(hn::CountTrue(d, kept));
    }
  }

  const Problem& p_;
  const float* dy_;
  // Whether lists side by side are worth dealing entries out one by one: those of many channels
  // with gaps between them would not stay in the first-level cache, and of squares little is kept.
  // Windows of one pixel read a list too seldom for that (docs/internals/performance.md).
  bool few_;
};

void sparse_weight_gradient(const Arguments<PrunedDY, float>& args, const Team& team) {
  const PrunedEntries entries(args);
  ListedWeightGradient(args.problem, args.x, args.out, entries).compute(team);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {
namespace {

REGISTER_SIMD_KERNEL(PrunedDY, "sparse_lists", sparse_weight_gradient)
    .computes({Product::kWeightGradient})
    .reads({ElementType::kFloat})
    .where([](const Problem& p) { return p.one_group() && p.n * p.ho * p.wo * p.ci * p.co > 0; })
    .ruled_against("exact")
    .rank(0);

}  // namespace
}  // namespace approx
#endif
