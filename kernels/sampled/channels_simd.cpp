// The same channels are taken of every row. So the lanes that a vector of channels contributes are
// worked out once, and a row costs a permutation and a store for each vector of its channels: no
// index is read, and no branch taken. A store writes a whole vector, whose last lanes the next one
// writes again; so the last rows of a range, behind which another thread's begin, go by the
// definition.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/sampled/channels_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/bfloat16-inl.h"
// clang-format on

#include <algorithm>
#include <vector>

#include "kernels/sampled/channels.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// For each vector of channels: the first of them in `part`, and which lane goes where.
struct ChannelLanes {
  static constexpr auto kLanes = static_cast<int64_t>(hn::MaxLanes(hn::ScalableTag<float>()));

  explicit ChannelLanes(const ChannelPart& which)
      : vectors(which.channels / kLanes),
        first(static_cast<size_t>(vectors) + 1),
        source(static_cast<size_t>(vectors * kLanes)),
        target(source.size()),
        kept(source.size()) {
    int64_t i = 0;
    for (int64_t v = 0; v < vectors; ++v) {
      first[static_cast<size_t>(v)] = i;
      for (int64_t found = 0; i < which.kept && which.index[i] < (v + 1) * kLanes; ++i, ++found) {
        const int64_t lane = which.index[i] - v * kLanes;
        source[static_cast<size_t>(v * kLanes + found)] = static_cast<int32_t>(lane);
        target[static_cast<size_t>(v * kLanes + lane)] = static_cast<int32_t>(found);
        kept[static_cast<size_t>(v * kLanes + lane)] = -1;
      }
    }
    first[static_cast<size_t>(vectors)] = i;
    if (which.factor != nullptr) {
      factor.assign(which.factor, which.factor + which.kept);
      factor.resize(static_cast<size_t>(which.kept + kLanes));
    }
  }

  int64_t vectors;
  std::vector<int64_t> first;   // the last: of the channels behind the last vector
  std::vector<int32_t> source;  // of a lane of the part: the lane of the whole
  std::vector<int32_t> target;  // of a lane of the whole: the lane of the part
  std::vector<int32_t> kept;    // of a lane of the whole: all ones, or zero
  std::vector<float> factor;    // with room for a vector behind the last; empty: none
};

// How many rows, of those before `end`, a whole vector may be read or written of in `part`.
int64_t rows_by_vectors(const ChannelPart& which, int64_t begin, int64_t end) {
  const int64_t last = (ChannelLanes::kLanes + which.kept - 1) / which.kept;
  return std::max(begin, end - last);
}

template <bool kScaled, typename Number>
void take_rows(const ChannelPart& which, const ChannelLanes& lanes,
               const Number* HWY_RESTRICT whole, Number* HWY_RESTRICT part, int64_t begin,
               int64_t end) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr int64_t kLanes = ChannelLanes::kLanes;
  const int64_t rest = lanes.first.back();
  for (int64_t row = begin; row < end; ++row) {
    const Number* from = whole + row * which.channels;
    Number* to = part + row * which.kept;
    for (int64_t v = 0; v < lanes.vectors; ++v) {
      const auto source = hn::LoadU(di, lanes.source.data() + v * kLanes);
      const int64_t first = lanes.first[static_cast<size_t>(v)];
      const auto taken =
          hn::TableLookupLanes(load_numbers(d, from + v * kLanes), hn::IndicesFromVec(d, source));
      if constexpr (kScaled) {
        store_rounded(d, hn::Mul(taken, hn::LoadU(d, lanes.factor.data() + first)), to + first);
      } else {
        store_same(d, taken, to + first);
      }
    }
    for (int64_t i = rest; i < which.kept; ++i) {
      to[i] = from[which.index[i]];
      if constexpr (kScaled) to[i] = Number(static_cast<float>(to[i]) * which.factor[i]);
    }
  }
}

template <bool kScaled, typename Number>
void put_rows(const ChannelPart& which, const ChannelLanes& lanes, const Number* HWY_RESTRICT part,
              Number* HWY_RESTRICT whole, int64_t begin, int64_t end) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  constexpr int64_t kLanes = ChannelLanes::kLanes;
  const int64_t rest = lanes.first.back();
  for (int64_t row = begin; row < end; ++row) {
    const Number* from = part + row * which.kept;
    Number* to = whole + row * which.channels;
    for (int64_t v = 0; v < lanes.vectors; ++v) {
      const auto target = hn::LoadU(di, lanes.target.data() + v * kLanes);
      const auto kept = hn::BitCast(d, hn::LoadU(di, lanes.kept.data() + v * kLanes));
      const int64_t first = lanes.first[static_cast<size_t>(v)];
      auto taken = load_numbers(d, from + first);
      if constexpr (kScaled) taken = hn::Mul(taken, hn::LoadU(d, lanes.factor.data() + first));
      const auto placed = hn::And(hn::TableLookupLanes(taken, hn::IndicesFromVec(d, target)), kept);
      if constexpr (kScaled) {
        store_rounded(d, placed, to + v * kLanes);
      } else {
        store_same(d, placed, to + v * kLanes);
      }
    }
    std::fill(to + lanes.vectors * kLanes, to + which.channels, Number());
    for (int64_t i = rest; i < which.kept; ++i) {
      to[which.index[i]] =
          kScaled ? Number(static_cast<float>(from[i]) * which.factor[i]) : from[i];
    }
  }
}

template <typename Number>
void take(const ChannelPart& which, const Number* whole, Number* part, int64_t begin, int64_t end) {
  if (which.kept == 0) return;
  const ChannelLanes lanes(which);
  const int64_t last = rows_by_vectors(which, begin, end);
  const auto rows = which.factor == nullptr ? take_rows<false, Number> : take_rows<true, Number>;
  rows(which, lanes, whole, part, begin, last);
  take_channels_reference(which, whole, part, last, end);
}

template <typename Number>
void put(const ChannelPart& which, const Number* part, Number* whole, int64_t begin, int64_t end) {
  if (which.kept == 0) return put_channels_reference(which, part, whole, begin, end);
  const ChannelLanes lanes(which);
  const int64_t last = rows_by_vectors(which, begin, end);
  const auto rows = which.factor == nullptr ? put_rows<false, Number> : put_rows<true, Number>;
  rows(which, lanes, part, whole, begin, last);
  put_channels_reference(which, part, whole, last, end);
}

// What is chosen at run time has no overloads.
void take_floats(const ChannelPart& which, const float* whole, float* part, int64_t begin,
                 int64_t end) {
  take(which, whole, part, begin, end);
}
void take_bfloat16(const ChannelPart& which, const BFloat16* whole, BFloat16* part, int64_t begin,
                   int64_t end) {
  take(which, whole, part, begin, end);
}
void put_floats(const ChannelPart& which, const float* part, float* whole, int64_t begin,
                int64_t end) {
  put(which, part, whole, begin, end);
}
void put_bfloat16(const ChannelPart& which, const BFloat16* part, BFloat16* whole, int64_t begin,
                  int64_t end) {
  put(which, part, whole, begin, end);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(take_floats);
HWY_EXPORT(take_bfloat16);
HWY_EXPORT(put_floats);
HWY_EXPORT(put_bfloat16);

void take_channels_simd(const ChannelPart& which, const float* whole, float* part, int64_t begin,
                        int64_t end) {
  HWY_DYNAMIC_DISPATCH(take_floats)(which, whole, part, begin, end);
}
void take_channels_simd(const ChannelPart& which, const BFloat16* whole, BFloat16* part,
                        int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(take_bfloat16)(which, whole, part, begin, end);
}

void put_channels_simd(const ChannelPart& which, const float* part, float* whole, int64_t begin,
                       int64_t end) {
  HWY_DYNAMIC_DISPATCH(put_floats)(which, part, whole, begin, end);
}
void put_channels_simd(const ChannelPart& which, const BFloat16* part, BFloat16* whole,
                       int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(put_bfloat16)(which, part, whole, begin, end);
}

}  // namespace approx
#endif
