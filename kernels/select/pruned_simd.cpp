// The same numbers as the reference, bit for bit, a few vectors at a time, for every instruction
// set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/pruned_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
#include "kernels/philox-inl.h"
#include "kernels/select/groups-inl.h"
// clang-format on

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "kernels/select/pruned.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<int32_t>;
using Stream = PhiloxStream<4>;
constexpr int kVectors = Stream::kVectors;

// Not "unequal", which no comparison with a NaN is on some machines.
HWY_INLINE size_t count_kept(hn::Vec<Floats> v) {
  const Floats d;
  return hn::Lanes(d) - hn::CountTrue(d, hn::Eq(v, hn::Zero(d)));
}

template <typename Number>
int64_t stochastic(const StochasticArgs<Number>& a, int64_t begin, int64_t end) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto step = kVectors * lanes;
  const Stream stream(a.rng);
  const auto tau = hn::Set(d, a.tau);
  size_t kept = 0;
  int64_t i = begin;
  for (; i + step <= end; i += step) {
    hn::Vec<hn::ScalableTag<uint32_t>> words[kVectors];
    stream.words(static_cast<uint32_t>(i / 4), words);
    for (int v = 0; v < kVectors; ++v) {
      const auto g = load_numbers(d, a.dy + i + v * lanes);
      const auto size = hn::Abs(g);
      const auto chosen = hn::Gt(size, hn::Mul(uniform_of(words[v]), tau));
      const auto small = hn::IfThenElseZero(chosen, hn::CopySignToAbs(tau, g));
      const auto stays = hn::IfThenElse(hn::Lt(size, tau), small, g);
      store_same(d, stays, a.pruned + i + v * lanes);
      kept += count_kept(stays);
    }
  }
  return static_cast<int64_t>(kept) + stochastic_reference(a, i, end);
}

// Of the groups of one vector, whose draws are `words`; returns how many entries stay.
template <typename Number>
HWY_INLINE size_t choose(const NmArgs<Number>& a, const GroupsOfLanes& lanes_of_groups,
                         hn::Vec<hn::ScalableTag<uint32_t>> words, const Number* from, Number* to) {
  const Floats d;
  const auto g = load_numbers(d, from);
  const auto key = ordered(a.random ? uniform_of(words) : g);
  const auto stays = hn::IfThenElseZero(lanes_of_groups.largest(key, a.n), g);
  if (!a.rescale_group) {
    store_same(d, stays, to);
    return count_kept(stays);
  }
  const auto rescaled = lanes_of_groups.rescaled(g, stays);
  store_rounded(d, rescaled, to);
  return count_kept(rescaled);
}

// The keys of `count` entries from entry i on, whose draw is that of `draw`; behind them, where
// draws are keys, some more.
template <typename Number>
HWY_INLINE void write_keys(const NmArgs<Number>& a, const Stream& stream, int64_t i, int64_t draw,
                           int64_t count, int32_t* keys) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (!a.random) {
    for (int64_t at = 0; at < count; at += lanes) {
      hn::Store(ordered(load_numbers(d, a.dy + i + at)), Ints(), keys + at);
    }
    return;
  }
  for (int64_t at = 0; at < count; at += kVectors * lanes) {
    hn::Vec<hn::ScalableTag<uint32_t>> words[kVectors];
    stream.words(static_cast<uint32_t>((draw + at) / 4), words);
    for (int v = 0; v < kVectors; ++v) {
      hn::Store(ordered(uniform_of(words[v])), Ints(), keys + at + v * lanes);
    }
  }
}

// The place of the set bit of `bits` that `rank` others lie below.
HWY_INLINE int place_of_set_bit(uint32_t bits, int rank) {
  int place = 0;
  for (int width = 16; width > 0; width /= 2) {
    const int below = std::popcount(bits & ((1U << width) - 1));
    const bool is_above = rank >= below;
    rank -= is_above ? below : 0;
    place += is_above ? width : 0;
    bits >>= is_above ? width : 0;
  }
  return place;
}

// Puts keys of -1 in place of all but the n of a group that stay where several are alike: those
// above the n-th largest, and the first that are equal to it.
template <int kM>
HWY_INLINE void settle_equal(int64_t n, int32_t nth, int32_t* keys) {
  const Ints d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto limit = hn::Set(d, nth);
  uint32_t above = 0, equal = 0;
  for (int64_t at = 0; at < kM; at += lanes) {
    const auto key = hn::Load(d, keys + at);
    uint8_t bits[2][8] = {};
    hn::StoreMaskBits(d, hn::Gt(key, limit), bits[0]);
    hn::StoreMaskBits(d, hn::Eq(key, limit), bits[1]);
    above |= (bits[0][0] | uint32_t{bits[0][1]} << 8) << at;
    equal |= (bits[1][0] | uint32_t{bits[1][1]} << 8) << at;
  }
  const int needed = static_cast<int>(n) - std::popcount(above);
  const uint32_t up_to_last = (2U << place_of_set_bit(equal, needed - 1)) - 1;
  const uint32_t stays = above | (equal & up_to_last);
  for (int64_t at = 0; at < kM; at += lanes) {
    const uint32_t part = (stays >> at) & ((uint64_t{1} << lanes) - 1);
    const uint8_t bits[8] = {static_cast<uint8_t>(part), static_cast<uint8_t>(part >> 8)};
    const auto key = hn::Load(d, keys + at);
    hn::Store(hn::IfThenElse(hn::LoadMaskBits(d, bits), key, hn::Set(d, -1)), d, keys + at);
  }
}

// Of one group of whole vectors, whose n-th largest key is `nth`; returns how many entries stay.
template <int kM, typename Number>
HWY_INLINE size_t keep_largest(const NmArgs<Number>& a, int32_t nth, int32_t* keys,
                               const Number* from, Number* to) {
  const Floats d;
  const Ints di;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto below = hn::Set(di, nth - 1);
  size_t chosen = 0, kept = 0;
  for (int64_t at = 0; at < kM; at += lanes) {
    chosen += hn::CountTrue(di, hn::Gt(hn::Load(di, keys + at), below));
  }
  if (static_cast<int64_t>(chosen) > a.n) settle_equal<kM>(a.n, nth, keys);
  for (int64_t at = 0; at < kM; at += lanes) {
    const auto stays = hn::RebindMask(d, hn::Gt(hn::Load(di, keys + at), below));
    const auto left = hn::IfThenElseZero(stays, load_numbers(d, from + at));
    store_same(d, left, to + at);
    kept += count_kept(left);
  }
  return kept;
}

// The sums of the magnitudes of a tile's groups, of which there are `count` entries.
template <int kM, typename Number>
HWY_INLINE void sums_of_magnitudes(TileOfGroups<kM>& tile, const Number* from, int64_t count,
                                   float* sums) {
  const Floats d;
  HWY_ALIGN float sizes[TileOfGroups<kM>::kMost] = {};
  for (int64_t at = 0; at < count; at += static_cast<int64_t>(hn::Lanes(d))) {
    hn::Store(hn::Abs(load_numbers(d, from + at)), d, sizes + at);
  }
  tile.sums(sizes, sums);
}

// The factor of a group whose sum of magnitudes is beyond the range of float.
template <typename Number>
float factor_of_large(const Number* group, const Number* kept, int64_t m) {
  float whole = 0, left = 0;
  for (int64_t i = 0; i < m; ++i) {
    whole += std::fabs(static_cast<float>(group[i])) * kGroupScale;
    left += std::fabs(static_cast<float>(kept[i])) * kGroupScale;
  }
  return rescaling_factor(whole, left);
}

// Groups of whole vectors.
template <int kM, typename Number>
int64_t wide_groups(const NmArgs<Number>& a, int64_t begin, int64_t end, int64_t first_draw) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  TileOfGroups<kM> tile;
  const Stream stream(a.rng);
  HWY_ALIGN int32_t keys[TileOfGroups<kM>::kMost] = {};
  HWY_ALIGN int32_t nth[hn::MaxLanes(Ints())];
  HWY_ALIGN float whole[hn::MaxLanes(Floats())], rest[hn::MaxLanes(Floats())];
  size_t kept = 0;
  for (int64_t i = begin; i < end; i += tile.numbers()) {
    const int64_t count = std::min(tile.numbers(), end - i), groups = count / kM;
    write_keys(a, stream, i, first_draw + i, count, keys);
    tile.nth_largest(keys, a.n, nth);
    if (a.rescale_group) sums_of_magnitudes(tile, a.dy + i, count, whole);
    size_t chosen = 0;
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t at = i + g * kM;
      chosen += keep_largest<kM>(a, nth[g], keys + g * kM, a.dy + at, a.pruned + at);
    }
    if (!a.rescale_group) {
      kept += chosen;
      continue;
    }
    sums_of_magnitudes(tile, a.pruned + i, count, rest);
    for (int64_t g = 0; g < groups; ++g) {
      const int64_t at = i + g * kM;
      whole[g] = whole[g] > std::numeric_limits<float>::max()
                     ? factor_of_large(a.dy + at, a.pruned + at, kM)
                     : rescaling_factor(whole[g], rest[g]);
    }
    for (int64_t at = 0; at < count; at += lanes) {
      const auto factor = hn::Set(d, whole[at / kM]);
      const auto rescaled = hn::Mul(load_numbers(d, a.pruned + i + at), factor);
      store_rounded(d, rescaled, a.pruned + i + at);
      kept += count_kept(rescaled);
    }
  }
  return static_cast<int64_t>(kept);
}

// The lanes of largest key of each group of kM lanes of 16 bits, of equal keys the earlier lanes, n
// of each: as GroupsOfLanes chooses lanes of floats.
template <int kM, class D>
HWY_INLINE hn::Mask<D> largest_of_few(D d, hn::Vec<D> key, int64_t n) {
  static_assert(kM == 2 || kM == 4);
  using Group = hn::Repartition<std::conditional_t<kM == 2, uint32_t, uint64_t>, D>;
  const Group whole;
  const auto lane = hn::And(hn::Iota(d, 0), hn::Set(d, kM - 1));
  // Whether the lane that goes round by kBy goes before this one.
  const auto goes_before = [&]<int kBy>(std::integral_constant<int, kBy>) HWY_ATTR {
    const auto other = hn::BitCast(d, hn::RotateRight<16 * kBy>(hn::BitCast(whole, key)));
    // It is an earlier one where it came round the end. (A mask is -1 in each of its lanes.)
    const auto is_earlier = hn::VecFromMask(d, hn::Gt(lane, hn::Set(d, kM - 1 - kBy)));
    return hn::Gt(hn::Sub(other, is_earlier), key);
  };
  const auto one = goes_before(std::integral_constant<int, 1>());
  if constexpr (kM == 2) {
    return n == 1 ? hn::Not(one) : hn::Eq(key, key);
  } else {
    const auto two = goes_before(std::integral_constant<int, 2>());
    const auto three = goes_before(std::integral_constant<int, 3>());
    const auto any = hn::Or(one, two), both = hn::And(one, two);
    if (n == 1) return hn::Not(hn::Or(any, three));
    if (n == 2) return hn::Not(hn::Or(both, hn::And(any, three)));
    return n == 3 ? hn::Not(hn::And(both, three)) : hn::Eq(key, key);
  }
}

// Groups of two or four by magnitude, in vectors of 16 bits as long as they are whole. Returns how
// many entries stay; `begin` becomes the first element that is left to do.
template <int kM>
int64_t few_by_magnitude(const NmArgs<BFloat16>& a, int64_t& begin, int64_t end) {
  const hn::ScalableTag<int16_t> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  constexpr int16_t kAboveInfinity = 0x7F81;  // every NaN the same, as in `ordered`
  size_t kept = 0;
  for (; begin + lanes <= end; begin += lanes) {
    const auto g = hn::LoadU(d, reinterpret_cast<const int16_t*>(a.dy + begin));
    const auto size = hn::And(g, hn::Set(d, 0x7FFF));
    const auto key = hn::Min(size, hn::Set(d, kAboveInfinity));
    const auto stays = largest_of_few<kM>(d, key, a.n);
    hn::StoreU(hn::IfThenElseZero(stays, g), d, reinterpret_cast<int16_t*>(a.pruned + begin));
    kept += hn::CountTrue(d, hn::Gt(hn::IfThenElseZero(stays, size), hn::Zero(d)));
  }
  return static_cast<int64_t>(kept);
}

template <typename Number>
int64_t groups(const NmArgs<Number>& a, int64_t begin, int64_t end, int64_t first_draw) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  size_t kept = 0;
  if constexpr (std::is_same_v<Number, BFloat16>) {
    if (!a.random && !a.rescale_group && (a.m == 2 || a.m == 4)) {
      kept += static_cast<size_t>(a.m == 2 ? few_by_magnitude<2>(a, begin, end)
                                           : few_by_magnitude<4>(a, begin, end));
    }
  }
  if (a.m >= lanes) {
    if (a.m == 8) return wide_groups<8>(a, begin, end, first_draw);
    if (a.m == 16) return wide_groups<16>(a, begin, end, first_draw);
    if (a.m == 32) return wide_groups<32>(a, begin, end, first_draw);
  }
  if (lanes % a.m != 0) {
    NmArgs<Number> groups_as_pixels = a;
    groups_as_pixels.channels = a.m;
    return static_cast<int64_t>(kept) +
           nm_reference(groups_as_pixels, begin / a.m, end / a.m, first_draw);
  }
  if (begin == end) return static_cast<int64_t>(kept);
  const auto step = kVectors * lanes;
  const GroupsOfLanes lanes_of_groups(a.m);
  const Stream stream(a.rng);
  for (int64_t i = begin; i < end; i += step) {
    hn::Vec<hn::ScalableTag<uint32_t>> words[kVectors];
    if (a.random) stream.words(static_cast<uint32_t>((first_draw + i) / 4), words);
    for (int v = 0; v < kVectors; ++v) {
      const int64_t at = i + v * lanes;
      const auto left = static_cast<size_t>(std::clamp<int64_t>(end - at, 0, lanes));
      if (left == 0) break;
      if (left == hn::Lanes(d)) {
        kept += choose(a, lanes_of_groups, words[v], a.dy + at, a.pruned + at);
      } else {
        HWY_ALIGN Number rest[hn::MaxLanes(Floats())] = {};
        std::copy_n(a.dy + at, left, rest);
        kept += choose(a, lanes_of_groups, words[v], rest, rest);
        std::copy_n(rest, left, a.pruned + at);
      }
    }
  }
  return static_cast<int64_t>(kept);
}

// The bits of `v`, rounded as BFloat16 rounds, in the upper half of each lane; what is below is of
// no number.
HWY_INLINE hn::Vec<hn::ScalableTag<uint32_t>> rounded_bits(hn::Vec<Floats> v) {
  const hn::ScalableTag<uint32_t> d;
  const auto bits = hn::BitCast(d, v);
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto rounded = hn::Add(bits, hn::Add(hn::Set(d, 0x7FFF), odd));
  return hn::IfThenElse(hn::RebindMask(d, hn::Eq(v, v)), rounded, hn::Set(d, 0x7FC00000));
}

// Scales one vector of channels after the other, each at all pixels: its factors stay in registers.
// Channels of even number are the lower halves of lanes of float. Returns the first channel that is
// left to do.
int64_t scale_vectors(const ChannelFactors<BFloat16>& a) {
  const Floats d;
  const hn::ScalableTag<uint32_t> du;
  const hn::ScalableTag<uint16_t> d16;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d16));
  const auto upper = hn::Set(du, 0xFFFF0000U);
  int64_t c = 0;
  for (; c + lanes <= a.channels; c += lanes) {
    hn::Vec<Floats> of_even, of_odd;
    hn::LoadInterleaved2(d, a.factor + c, of_even, of_odd);
    auto* two = reinterpret_cast<uint16_t*>(a.values + c);
    for (int64_t p = 0; p < a.pixels; ++p, two += a.channels) {
      const auto bits = hn::BitCast(du, hn::LoadU(d16, two));
      const auto even = hn::Mul(hn::BitCast(d, hn::ShiftLeft<16>(bits)), of_even);
      const auto odd = hn::Mul(hn::BitCast(d, hn::And(bits, upper)), of_odd);
      const auto both =
          hn::Or(hn::ShiftRight<16>(rounded_bits(even)), hn::And(rounded_bits(odd), upper));
      hn::StoreU(hn::BitCast(d16, both), d16, two);
    }
  }
  return c;
}

template <typename Number>
void scale_channels(const ChannelFactors<Number>& a) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Number* pixel = a.values;
  int64_t first = 0;
  if constexpr (std::is_same_v<Number, BFloat16>) first = scale_vectors(a);
  if (first == a.channels) return;
  for (int64_t p = 0; p < a.pixels; ++p, pixel += a.channels) {
    int64_t c = first;
    for (; c + lanes <= a.channels; c += lanes) {
      store_rounded(d, hn::Mul(load_numbers(d, pixel + c), hn::LoadU(d, a.factor + c)), pixel + c);
    }
    for (; c < a.channels; ++c) pixel[c] = Number(static_cast<float>(pixel[c]) * a.factor[c]);
  }
}

// What is chosen at run time has no overloads.
#define APPROX_PRUNED_OF(Number, suffix)                                                     \
  int64_t stochastic_##suffix(const StochasticArgs<Number>& a, int64_t begin, int64_t end) { \
    return stochastic(a, begin, end);                                                        \
  }                                                                                          \
  int64_t groups_##suffix(const NmArgs<Number>& a, int64_t begin, int64_t end,               \
                          int64_t first_draw) {                                              \
    return groups(a, begin, end, first_draw);                                                \
  }                                                                                          \
  void scale_channels_##suffix(const ChannelFactors<Number>& a) { scale_channels(a); }

APPROX_PRUNED_OF(float, float)
APPROX_PRUNED_OF(BFloat16, bfloat16)

#undef APPROX_PRUNED_OF

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

#define APPROX_PRUNED_OF(Number, suffix)                                                        \
  HWY_EXPORT(stochastic_##suffix);                                                              \
  HWY_EXPORT(groups_##suffix);                                                                  \
  HWY_EXPORT(scale_channels_##suffix);                                                          \
  int64_t stochastic_simd(const StochasticArgs<Number>& args, int64_t begin, int64_t end) {     \
    return HWY_DYNAMIC_DISPATCH(stochastic_##suffix)(args, begin, end);                         \
  }                                                                                             \
  int64_t nm_simd(const NmArgs<Number>& args, int64_t begin, int64_t end, int64_t first_draw) { \
    return HWY_DYNAMIC_DISPATCH(groups_##suffix)(args, begin, end, first_draw);                 \
  }                                                                                             \
  void scale_channels_simd(const ChannelFactors<Number>& args) {                                \
    HWY_DYNAMIC_DISPATCH(scale_channels_##suffix)(args);                                        \
  }

APPROX_PRUNED_OF(float, float)
APPROX_PRUNED_OF(BFloat16, bfloat16)

#undef APPROX_PRUNED_OF

}  // namespace approx
#endif
