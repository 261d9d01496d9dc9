// The data gradient of a dY in bfloat16 that holds many zeros, for processors with AVX512_BF16.
//
//   dX[n, i - padding + r, j - padding + s, :] += dY[n, i, j, co] W[co, r, s, :]
//
// Two entries of a pixel go together (kernels/pruned_dy/bf16_pairs.h). Two loads, two vpunpck and
// two products make 64 multiply-adds, where dense loops make 64 with two loads and two products.
// Sums stay in float until the end.
#include <hwy/highway.h>

#include "kernels/pruned_dy/pair_rows.h"
#include "kernels/pruned_dy/pruned_dy.h"

#if HWY_ARCH_X86 && HWY_COMPILER_GCC_ACTUAL
#include <algorithm>
#include <type_traits>
#include <vector>

#include "kernels/memory_pool.h"
#include "kernels/pruned_dy/bf16_pairs.h"

namespace approx {
// Whole vectors of input channels. Nothing pays off below 32 of them: lists and sums take longer
// than the exact product.
bool pair_rows_fit(const Problem& p) {
  const Geometry& g = p.geometry;
  return has_bf16_products() && p.one_group() && g.stride.h <= 2 && g.stride.w <= 2 &&
         g.dilation == Spatial(1) && p.ci % kPart == 0 && (p.kw == 1 || p.kw == 3 || p.kw == 5) &&
         g.padding.w < p.kw && g.padding.h < p.kh && p.n * p.ho * p.wo > 0;
}

namespace {

// The entries of some pixels by twos, a list for each block of output channels in the order of the
// pixels. A pair holds two entries of one pixel; an odd entry goes with a zero.
class PixelPairs {
 public:
  PixelPairs(int64_t pixels, int64_t channels, int64_t block)
      : pixels_(pixels),
        room_((pixels * (block + 1) + 2 * kPart) / 2 * 2),  // the last store may run over
        values_(allocate_numbers<uint16_t>((channels + block - 1) / block * room_)),
        places_(allocate_numbers<uint16_t>((channels + block - 1) / block * room_)),
        begin_(static_cast<size_t>((channels + block - 1) / block * (pixels + 1))) {}

  uint16_t* values(int64_t b) { return values_.get() + b * room_; }
  // Where the weights of each entry begin in the block, in units.
  uint16_t* places(int64_t b) { return places_.get() + b * room_; }
  // The first pair of each pixel, and the end of the last.
  int32_t* begin(int64_t b) { return begin_.data() + b * (pixels_ + 1); }

 private:
  int64_t pixels_, room_;
  AlignedNumbers<uint16_t> values_, places_;
  std::vector<int32_t> begin_;
};

// The pairs of a row of pixels for one block of output channels.
struct PairRow {
  const uint32_t *value, *place;
  const int32_t* begin;
};

// What one thread needs for a group of images.
struct GroupMemory {
  PixelPairs pairs;
  AlignedNumbers<float> sums;
  AlignedNumbers<uint16_t> image;  // see PairImages
};

// Input channels [first, first + vectors * kPart).
struct InputBlock {
  int64_t first, vectors;
  int64_t width() const { return vectors * kPart; }
};

}  // namespace

HWY_PUSH_ATTRIBUTES(APPROX_PAIRS_TARGET)
namespace {

// Adds what one row of dY gives to kRows rows of sums through as many rows of the kernel; the
// window of sums moves with the pixels as in kernels/entry_rows-inl.h. Sums of the window of pixel
// j begin at `sums + j * kStride * kVectors * kPart`, those of the next row `row_step` further.
// kMargins: the first tap of the first pixel and the last tap of the last pixel are off the map.
template <int kRows, int kTaps, int kStride, int kVectors, bool kMargins>
__attribute__((noinline)) void add_pairs(const PairRow& pairs, int64_t count,
                                         const uint16_t* __restrict weights, float* sums,
                                         int64_t row_step) {
  constexpr int kLeaving = std::min(kTaps, kStride);  // when the window moves on
  constexpr int64_t kWidth = kVectors * kPart;
  __m512 sum[kRows][kTaps][kVectors][2];
  // The place of the next pair is read one pair ahead: a load whose address has just been loaded
  // keeps the products waiting.
  uint32_t next_place = pairs.place[pairs.begin[0]];
  const auto enter = [&](int64_t column, auto k) APPROX_INLINE {
    unrolled_pairs<kRows>([&](auto r) APPROX_INLINE {
      unrolled_pairs<kVectors * 2>([&](auto v) APPROX_INLINE {
        sum[r][k][v / 2][v % 2] =
            _mm512_load_ps(sums + r * row_step + column * kWidth + v * kPart / 2);
      });
    });
  };
  const auto leave = [&](int64_t column, auto k) APPROX_INLINE {
    unrolled_pairs<kRows>([&](auto r) APPROX_INLINE {
      unrolled_pairs<kVectors * 2>([&](auto v) APPROX_INLINE {
        _mm512_store_ps(sums + r * row_step + column * kWidth + v * kPart / 2,
                        sum[r][k][v / 2][v % 2]);
      });
    });
  };
  // Adds the pairs of pixel j to the sums of `phase`, through the taps [first, last).
  const auto add = [&](int64_t j, auto phase, auto first, auto last) APPROX_INLINE {
    const int32_t end = pairs.begin[j + 1];
    for (int32_t e = pairs.begin[j]; e < end; ++e) {
      const uint32_t place = next_place;
      next_place = pairs.place[e + 1];
      const __m512i value = _mm512_set1_epi32(static_cast<int>(pairs.value[e]));
      const uint16_t* one = weights + (place & 0xFFFF) * kPlaceUnit;
      const uint16_t* other = weights + (place >> 16) * kPlaceUnit;
      unrolled_pairs<kRows>([&](auto r) APPROX_INLINE {
        unrolled_pairs<kTaps>([&](auto k) APPROX_INLINE {
          if constexpr (k >= first && k < last) {
            unrolled_pairs<kVectors>([&](auto v) APPROX_INLINE {
              constexpr int64_t at = ((r * kTaps + k) * kVectors + v) * kPart;
              add_pair(value, one + at, other + at, sum[r][(k + phase * kStride) % kTaps][v]);
            });
          }
        });
      });
    }
    const int64_t left = j * kStride;
    unrolled_pairs<kLeaving>([&](auto k) APPROX_INLINE {
      using Own = std::integral_constant<int, (k + phase * kStride) % kTaps>;
      leave(left + k, Own());
      enter(left + kStride + kTaps - kLeaving + k, Own());
    });
  };
  using First = std::integral_constant<int, 0>;
  using Last = std::integral_constant<int, kTaps>;
  using AfterFirst = std::integral_constant<int, kMargins ? 1 : 0>;
  using BeforeLast = std::integral_constant<int, kMargins ? kTaps - 1 : kTaps>;
  unrolled_pairs<kTaps>([&](auto k) APPROX_INLINE { enter(k, k); });
  add(0, First(), AfterFirst(), Last());
  int64_t j = 1;
  for (; j + kTaps < count; j += kTaps) {
    unrolled_pairs<kTaps>([&](auto i) APPROX_INLINE {
      add(j + i, std::integral_constant<int, (i + 1) % kTaps>(), First(), Last());
    });
  }
  // The rest, and the sums of the last window, in the order of the phase that it ends in.
  unrolled_pairs<kTaps + 1>([&](auto rest) APPROX_INLINE {
    if (count - j != rest) return;
    unrolled_pairs<rest>([&](auto i) APPROX_INLINE {
      using Phase = std::integral_constant<int, (i + 1) % kTaps>;
      if constexpr (i + 1 < rest) {
        add(j + i, Phase(), First(), Last());
      } else {
        add(j + i, Phase(), First(), BeforeLast());
      }
    });
    unrolled_pairs<kTaps>([&](auto k) APPROX_INLINE {
      leave((j + rest) * kStride + k,
            std::integral_constant<int, (k + (rest + 1) * kStride) % kTaps>());
    });
  });
}

using AddPairs = void (*)(const PairRow&, int64_t, const uint16_t*, float*, int64_t);

template <int kTaps, int kStride, bool kMargins = false>
AddPairs add_pairs_of(int64_t vectors) {
  if (vectors == 4) return add_pairs < 1, kTaps, kStride, kTaps == 1 ? 4 : 2, kMargins > ;
  return vectors == 2 ? add_pairs<1, kTaps, kStride, 2, kMargins>
                      : add_pairs<1, kTaps, kStride, 1, kMargins>;
}

AddPairs add_pairs_of(const Problem& p, int64_t rows, int64_t vectors) {
  const bool by_one = p.geometry.stride.w == 1;
  // Both taps are off the map, and the last pixel is not the first.
  const bool margins = p.kw == 3 && by_one && p.geometry.padding.w == 1 && p.wo > 1;
  if (rows == 3) {
    return margins ? add_pairs<3, 3, 1, 1, true> : add_pairs<3, 3, 1, 1, false>;
  }
  if (margins) return add_pairs_of<3, 1, true>(vectors);
  if (p.kw == 1) return by_one ? add_pairs_of<1, 1>(vectors) : add_pairs_of<1, 2>(vectors);
  if (p.kw == 3) return by_one ? add_pairs_of<3, 1>(vectors) : add_pairs_of<3, 2>(vectors);
  return by_one ? add_pairs_of<5, 1>(vectors) : add_pairs_of<5, 2>(vectors);
}

// Appends the entries of a pixel to `value` and `place` at `at`, and a zero where they are odd;
// returns where the next pixel's begin. Numbers whose magnitude is zero are no entries.
APPROX_INLINE inline int64_t compact_pairs(const uint16_t* from, int64_t channels, int64_t step,
                                           uint16_t* value, uint16_t* place, int64_t at) {
  const __m512i next = _mm512_set1_epi16(static_cast<int16_t>(step * kPart));
  __m512i places =
      _mm512_mullo_epi16(lane_numbers(), _mm512_set1_epi16(static_cast<int16_t>(step)));
  for (int64_t c = 0; c < channels; c += kPart) {
    const int64_t left = channels - c;
    const __mmask32 inside = left >= kPart ? ~__mmask32{0} : (__mmask32{1} << left) - 1;
    const __m512i v = _mm512_maskz_loadu_epi16(inside, from + c);
    at += store_entries(v, places, value + at, place + at);
    places = _mm512_add_epi16(places, next);
  }
  value[at] = 0;
  place[at] = static_cast<uint16_t>(channels * step);  // a row of zeros: not of weights, 0 * inf
  return (at + 1) / 2 * 2;
}

// Writes the sums of `pixels` pixels, `width` channels of each, rounded.
void round_pixels(const float* sums, int64_t pixels, int64_t width, uint16_t* out, int64_t step) {
  for (int64_t pixel = 0; pixel < pixels; ++pixel, sums += width, out += step) {
    for (int64_t c = 0; c < width; c += kPart) {
      store_rounded(_mm512_load_ps(sums + c), _mm512_load_ps(sums + c + kPart / 2), out + c);
    }
  }
}

class PairsDataGradient {
 public:
  PairsDataGradient(const Problem& problem, const BFloat16* w, const PairImages& dy, BFloat16* out)
      : p_(problem), w_(&w->bits), dy_(dy), out_(&out->bits) {
    // Few channels: three rows of the kernel together, for fewer sums than twelve leave products
    // waiting for each other.
    if (p_.ci == kPart && p_.kh == 3 && p_.kw == 3 && p_.geometry.stride == Spatial(1)) rows_ = 3;
    const int64_t widest = rows_ == 3 ? 1 : p_.kw == 1 ? 4 : 2;
    for (int64_t first = 0; first < p_.ci;) {
      int64_t vectors = widest;
      while (first + vectors * kPart > p_.ci) vectors /= 2;
      inputs_.push_back({first, vectors});
      first += vectors * kPart;
    }
    // Weights of a block: a first-level cache of 48 KiB.
    constexpr int64_t kWeights = 24 << 10;
    const int64_t per_channel = rows_ * p_.kw * inputs_.front().width();
    block_ = std::clamp(kWeights / per_channel / kPart * kPart, kPart,
                        (p_.co + kPart - 1) / kPart * kPart);
    blocks_ = (p_.co + block_ - 1) / block_;
    constexpr int64_t kGroupPixels = 1024;  // that share weights while they are in the cache
    images_ = std::clamp<int64_t>(kGroupPixels / (p_.ho * p_.wo), 1, p_.n);
    // Sums are of all positions that a window comes to, on the map and off it.
    const Geometry& g = p_.geometry;
    sum_rows_ = std::max((p_.ho - 1) * g.stride.h + p_.kh, g.padding.h + p_.h);
    sum_columns_ = std::max(p_.wo * g.stride.w + p_.kw, g.padding.w + p_.w);
  }

  void compute(const Team& team) const {
    const auto weights = allocate_numbers<uint16_t>((p_.co + blocks_) * p_.kh * p_.kw * p_.ci);
    team.share(blocks_, [&](int64_t block) { pack_weights(block, weights.get()); });
    MemoryPool<GroupMemory> memories;
    team.share((p_.n + images_ - 1) / images_, [&](int64_t group) {
      const int64_t first = group * images_;
      GroupMemory memory = memories.take([&] { return new_memory(); });
      add_images(first, std::min(images_, p_.n - first), weights.get(), memory);
      memories.give_back(std::move(memory));
    });
  }

 private:
  GroupMemory new_memory() const {
    const int64_t sums = images_ * sum_rows_ * sum_columns_ * inputs_.front().width();
    return {PixelPairs(images_ * p_.ho * p_.wo, p_.co, block_), allocate_numbers<float>(sums),
            allocate_numbers<uint16_t>(dy_.room())};
  }

  int64_t channels_of(int64_t block) const { return std::min(block_, p_.co - block * block_); }
  int64_t weights_of_channel(const InputBlock& input) const {
    return rows_ * p_.kw * input.width();
  }

  // Packed weights: [output block][input block][kernel rows][output channel][row][tap][vector]. A
  // block has one channel more, of zeros.
  int64_t weights_at(int64_t block, const InputBlock& input, int64_t row) const {
    const int64_t channels = channels_of(block) + 1;
    return block * (block_ + 1) * p_.kh * p_.kw * p_.ci + channels * p_.kh * p_.kw * input.first +
           row / rows_ * channels * weights_of_channel(input);
  }

  void pack_weights(int64_t block, uint16_t* packed) const {
    const __m512i order = packed_order();
    const int64_t channels = channels_of(block);
    for (const auto& input : inputs_) {
      for (int64_t r = 0; r < p_.kh; ++r) {
        uint16_t* to = packed + weights_at(block, input, r) + r % rows_ * p_.kw * input.width();
        for (int64_t c = 0; c <= channels; ++c, to += weights_of_channel(input)) {
          const uint16_t* from =
              w_ + ((block * block_ + c) * p_.kh + r) * p_.kw * p_.ci + input.first;
          for (int64_t s = 0; s < p_.kw; ++s) {
            for (int64_t v = 0; v < input.width(); v += kPart) {
              const __m512i row =
                  c == channels ? _mm512_setzero_si512() : _mm512_loadu_si512(from + s * p_.ci + v);
              _mm512_store_si512(to + s * input.width() + v, _mm512_permutexvar_epi16(order, row));
            }
          }
        }
      }
    }
  }

  // The entries of images [first, first + count).
  void list(int64_t first, int64_t count, int64_t step, GroupMemory& memory) const {
    PixelPairs& pairs = memory.pairs;
    const int64_t plane = p_.ho * p_.wo;
    for (int64_t image = 0; image < count; ++image) {
      const uint16_t* dy = dy_.image(first + image, memory.image.get());
      for (int64_t b = 0; b < blocks_; ++b) {
        const uint16_t* from = dy + b * block_;
        uint16_t *values = pairs.values(b), *places = pairs.places(b);
        int32_t* begin = pairs.begin(b) + image * plane;
        int64_t at = image == 0 ? 0 : 2 * int64_t{begin[0]};
        for (int64_t pixel = 0; pixel < plane; ++pixel, from += p_.co) {
          begin[pixel] = static_cast<int32_t>(at / 2);
          at = compact_pairs(from, channels_of(b), step, values, places, at);
        }
        begin[plane] = static_cast<int32_t>(at / 2);
      }
    }
  }

  // dX of images [first, first + count).
  void add_images(int64_t first, int64_t count, const uint16_t* weights,
                  GroupMemory& memory) const {
    const int64_t pixels = count * p_.ho * p_.wo;
    int64_t step = weights_of_channel(inputs_.front()) / kPlaceUnit;
    list(first, count, step, memory);
    float* const sums = memory.sums.get();
    for (const auto& input : inputs_) {
      // The last blocks of input channels may have fewer vectors than the first.
      const int64_t own = weights_of_channel(input) / kPlaceUnit;
      if (own != step) change_step(memory.pairs, pixels, step, own);
      step = own;
      std::fill_n(sums, count * sum_rows_ * sum_columns_ * input.width(), 0.0f);
      for (int64_t b = 0; b < blocks_; ++b) add_block(b, input, count, memory.pairs, weights, sums);
      write(input, first, count, sums);
    }
  }

  void change_step(PixelPairs& pairs, int64_t pixels, int64_t from, int64_t to) const {
    for (int64_t b = 0; b < blocks_; ++b) {
      uint16_t* const places = pairs.places(b);
      const int64_t end = 2 * int64_t{pairs.begin(b)[pixels]};
      for (int64_t i = 0; i < end; ++i) places[i] = static_cast<uint16_t>(places[i] / from * to);
    }
  }

  void add_block(int64_t b, const InputBlock& input, int64_t count, PixelPairs& pairs,
                 const uint16_t* weights, float* sums) const {
    const auto add = add_pairs_of(p_, rows_, input.vectors);
    const int64_t row_step = sum_columns_ * input.width(), stride = p_.geometry.stride.h,
                  pad = p_.geometry.padding.h;
    // uint16_t by twos are what add_pairs reads.
    const auto* values = reinterpret_cast<const uint32_t*>(pairs.values(b));
    const auto* places = reinterpret_cast<const uint32_t*>(pairs.places(b));
    for (int64_t r = 0; r < p_.kh; r += rows_) {
      const uint16_t* own = weights + weights_at(b, input, r);
      // Output rows of which one of `rows_` rows of dX is on the map.
      const int64_t top = std::max<int64_t>(0, (pad - r - rows_ + stride) / stride);
      const int64_t bottom = std::min(p_.ho, (p_.h + pad - r + stride - 1) / stride);
      for (int64_t image = 0; image < count; ++image) {
        for (int64_t i = top; i < bottom; ++i) {
          add({values, places, pairs.begin(b) + (image * p_.ho + i) * p_.wo}, p_.wo, own,
              sums + (image * sum_rows_ + i * stride + r) * row_step, row_step);
        }
      }
    }
  }

  void write(const InputBlock& input, int64_t first, int64_t count, const float* sums) const {
    const Spatial& pad = p_.geometry.padding;
    for (int64_t image = 0; image < count; ++image) {
      for (int64_t y = 0; y < p_.h; ++y) {
        round_pixels(
            sums + ((image * sum_rows_ + y + pad.h) * sum_columns_ + pad.w) * input.width(), p_.w,
            input.width(), out_ + ((first + image) * p_.h + y) * p_.w * p_.ci + input.first, p_.ci);
      }
    }
  }

  const Problem& p_;
  const uint16_t* w_;
  const PairImages& dy_;
  uint16_t* out_;
  int64_t rows_ = 1;  // of the kernel, together
  std::vector<InputBlock> inputs_;
  int64_t block_ = 0, blocks_ = 0;  // output channels together, and how often
  int64_t images_ = 1;              // together
  int64_t sum_rows_ = 0, sum_columns_ = 0;
};

// dY as it is.
class WholeImages final : public PairImages {
 public:
  explicit WholeImages(const Arguments<PrunedDY, BFloat16>& args)
      : dy_(&args.dy->bits), image_(args.problem.ho * args.problem.wo * args.problem.co) {}

  const uint16_t* image(int64_t index, uint16_t* /*room*/) const override {
    return dy_ + index * image_;
  }

 private:
  const uint16_t* dy_;
  int64_t image_;
};

void pair_rows(const Arguments<PrunedDY, BFloat16>& args, const Team& team) {
  pair_data_gradient(args.problem, args.w, WholeImages(args), args.out, team);
}

}  // namespace
HWY_POP_ATTRIBUTES

void pair_data_gradient(const Problem& problem, const BFloat16* w, const PairImages& dy,
                        BFloat16* out, const Team& team) {
  PairsDataGradient(problem, w, dy, out).compute(team);
}

namespace {

REGISTER_KERNEL(PrunedDY, kPairRows, pair_rows)
    .computes({Product::kDataGradient})
    .on({Hardware::kCpu})
    .where(pair_rows_fit)
    .ruled_against("exact")
    .rank(0);

}  // namespace
}  // namespace approx
#endif
