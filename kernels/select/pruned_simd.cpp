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

#include "kernels/select/pruned.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Ints = hn::ScalableTag<int32_t>;
using Vector = hn::Vec<Floats>;
using IntVector = hn::Vec<Ints>;
using Stream = PhiloxStream<4>;
constexpr int kVectors = Stream::kVectors;

// Not "unequal", which no comparison with a NaN is on some machines.
HWY_INLINE size_t count_kept(Vector v) {
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

// The sum of each group's magnitudes, added in the order of its channels.
template <int kCount>
HWY_INLINE float sum_of_magnitudes(const Vector (&values)[kCount]) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  HWY_ALIGN float size[kCount * hn::MaxLanes(Floats())];
  for (int v = 0; v < kCount; ++v) hn::Store(hn::Abs(values[v]), d, size + v * lanes);
  float sum = 0;
  for (int64_t i = 0; i < kCount * lanes; ++i) sum += size[i];
  return sum;
}

// Groups of kOf whole vectors.
template <int kOf, typename Number>
int64_t wide_groups(const NmArgs<Number>& a, int64_t begin, int64_t end) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const GroupsOfVectors<kOf> group;
  const PhiloxStream<kOf / 2> stream(a.rng);
  size_t kept = 0;
  for (int64_t i = begin; i < end; i += kOf * lanes) {
    hn::Vec<hn::ScalableTag<uint32_t>> words[kOf];
    if (a.random) stream.words(static_cast<uint32_t>(i / 4), words);
    Vector g[kOf];
    IntVector key[kOf];
    hn::Mask<Floats> stays[kOf];
    for (int v = 0; v < kOf; ++v) {
      g[v] = load_numbers(d, a.dy + i + v * lanes);
      key[v] = ordered(a.random ? uniform_of(words[v]) : g[v]);
    }
    group.largest(key, a.n, stays);
    if (!a.rescale_group) {
      for (int v = 0; v < kOf; ++v) {
        const auto left = hn::IfThenElseZero(stays[v], g[v]);
        store_same(d, left, a.pruned + i + v * lanes);
        kept += count_kept(left);
      }
      continue;
    }
    Vector left[kOf];
    for (int v = 0; v < kOf; ++v) left[v] = hn::IfThenElseZero(stays[v], g[v]);
    const float rest = sum_of_magnitudes(left);
    const auto factor = hn::Set(d, rest > 0 ? sum_of_magnitudes(g) / rest : 1.0f);
    for (int v = 0; v < kOf; ++v) {
      left[v] = hn::Mul(left[v], factor);
      store_rounded(d, left[v], a.pruned + i + v * lanes);
      kept += count_kept(left[v]);
    }
  }
  return static_cast<int64_t>(kept);
}

template <typename Number>
int64_t groups(const NmArgs<Number>& a, int64_t begin, int64_t end) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if (a.m == 2 * lanes) return wide_groups<2>(a, begin, end);
  if (a.m == 4 * lanes) return wide_groups<4>(a, begin, end);
  if (a.m == 8 * lanes) return wide_groups<8>(a, begin, end);
  if (lanes % a.m != 0) {  // of a size that neither divides a vector nor is some of them
    NmArgs<Number> groups_as_pixels = a;
    groups_as_pixels.channels = a.m;
    return nm_reference(groups_as_pixels, begin / a.m, end / a.m);
  }
  const auto step = kVectors * lanes;
  const GroupsOfLanes lanes_of_groups(a.m);
  const Stream stream(a.rng);
  size_t kept = 0;
  for (int64_t i = begin; i < end; i += step) {
    hn::Vec<hn::ScalableTag<uint32_t>> words[kVectors];
    if (a.random) stream.words(static_cast<uint32_t>(i / 4), words);
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

template <typename Number>
void scale_channels(const ChannelFactors<Number>& a) {
  const Floats d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  Number* pixel = a.values;
  for (int64_t p = 0; p < a.pixels; ++p, pixel += a.channels) {
    int64_t c = 0;
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
  int64_t groups_##suffix(const NmArgs<Number>& a, int64_t begin, int64_t end) {             \
    return groups(a, begin, end);                                                            \
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

#define APPROX_PRUNED_OF(Number, suffix)                                                    \
  HWY_EXPORT(stochastic_##suffix);                                                          \
  HWY_EXPORT(groups_##suffix);                                                              \
  HWY_EXPORT(scale_channels_##suffix);                                                      \
  int64_t stochastic_simd(const StochasticArgs<Number>& args, int64_t begin, int64_t end) { \
    return HWY_DYNAMIC_DISPATCH(stochastic_##suffix)(args, begin, end);                     \
  }                                                                                         \
  int64_t nm_simd(const NmArgs<Number>& args, int64_t begin, int64_t end) {                 \
    return HWY_DYNAMIC_DISPATCH(groups_##suffix)(args, begin, end);                         \
  }                                                                                         \
  void scale_channels_simd(const ChannelFactors<Number>& args) {                            \
    HWY_DYNAMIC_DISPATCH(scale_channels_##suffix)(args);                                    \
  }

APPROX_PRUNED_OF(float, float)
APPROX_PRUNED_OF(BFloat16, bfloat16)

#undef APPROX_PRUNED_OF

}  // namespace approx
#endif
