// Chooses n of every m neighbouring lanes. Included once for each instruction set that Highway
// compiles for.
#if defined(APPROX_KERNELS_SELECT_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_SELECT_GROUPS_INL_H_
#undef APPROX_KERNELS_SELECT_GROUPS_INL_H_
#else
#define APPROX_KERNELS_SELECT_GROUPS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "kernels/select/nm_choice.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// For rotations by `by` within groups of m lanes: the lane that each lane reads, and whether it is
// an earlier one. (Vectors may only be members of this class: the constructor of a plain struct of
// them would be compiled for the lowest instruction set.)
class GroupsOfLanes {
  using Floats = hn::ScalableTag<float>;
  using Ints = hn::ScalableTag<int32_t>;
  using Vector = hn::Vec<Floats>;
  using IntVector = hn::Vec<Ints>;
  using IntIndices = decltype(hn::SetTableIndices(Ints(), static_cast<const int32_t*>(nullptr)));
  using FloatIndices =
      decltype(hn::SetTableIndices(Floats(), static_cast<const int32_t*>(nullptr)));

 public:
  explicit GroupsOfLanes(int64_t m) : m_(m) {
    const Ints d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    for (int64_t by = 0; by < m; ++by) {
      HWY_ALIGN int32_t rotated[kMost], earlier[kMost], member[kMost];
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const int64_t first = lane / m * m, own = lane % m, other = (own + by) % m;
        rotated[lane] = static_cast<int32_t>(first + other);
        earlier[lane] = other < own;
        member[lane] = static_cast<int32_t>(first + by);
      }
      rotated_[by] = hn::SetTableIndices(d, rotated);
      earlier_[by] = hn::Load(d, earlier);
      members_[by] = hn::SetTableIndices(Floats(), member);
    }
  }

  // A mask of the n lanes with the largest keys in each group; of equal keys, the earlier lanes.
  // Keys are from `ordered`. kM is m if that is known at compile time.
  template <int64_t kM = 0>
  HWY_INLINE hn::Mask<Floats> largest(IntVector key, int64_t n) const {
    const Ints d;
    const int64_t m = kM == 0 ? m_ : kM;
    auto before = hn::Zero(d);  // number of lanes of the group that come before this one
    for (int64_t by = 1; by < m; ++by) {
      const auto other = hn::TableLookupLanes(key, rotated_[by]);
      // A mask is -1 in each of its lanes.
      const auto first = hn::Gt(hn::Add(other, earlier_[by]), key);
      before = hn::Sub(before, hn::VecFromMask(d, first));
    }
    return hn::RebindMask(Floats(), hn::Lt(before, hn::Set(d, static_cast<int32_t>(n))));
  }

  // The sum of each group in all its lanes, added in the order of lanes, as in the definition.
  HWY_INLINE Vector sums(Vector all) const {
    auto sum = hn::TableLookupLanes(all, members_[0]);
    for (int64_t i = 1; i < m_; ++i) sum = hn::Add(sum, hn::TableLookupLanes(all, members_[i]));
    return sum;
  }

  // The kept lanes of g, multiplied so that each group keeps its sum of magnitudes.
  HWY_INLINE Vector rescaled(Vector g, Vector kept) const {
    const Floats d;
    auto whole = sums(hn::Abs(g)), left = sums(hn::Abs(kept));
    const auto most = hn::Set(d, std::numeric_limits<float>::max());
    const auto too_large = hn::Gt(whole, most);
    if (HWY_UNLIKELY(!hn::AllFalse(d, too_large))) {
      const auto scale = hn::Set(d, kGroupScale);
      whole = hn::IfThenElse(too_large, sums(hn::Mul(hn::Abs(g), scale)), whole);
      left = hn::IfThenElse(too_large, sums(hn::Mul(hn::Abs(kept), scale)), left);
    }
    // As in rescaling_factor; unless they are NaN, sums are not below zero.
    const auto ratio = hn::Div(whole, left);
    const auto beyond = hn::Gt(ratio, most);
    const auto is_factor = hn::AndNot(beyond, hn::Gt(left, hn::Zero(d)));
    return hn::Mul(kept, hn::IfThenElse(is_factor, ratio, hn::Set(d, 1.0f)));
  }

 private:
  static constexpr int64_t kMost = static_cast<int64_t>(hn::MaxLanes(Ints()));

  int64_t m_;
  IntIndices rotated_[kMost];
  IntVector earlier_[kMost];
  FloatIndices members_[kMost];
};

// The pairs of kCount numbers (a power of two) to compare and put into order, one after the other.
// In the end all numbers are sorted. The network consists of Batcher's odd-even merges of runs of
// 1, 2, 4 ... (Knuth, volume 3, 5.2.2, Algorithm M).
template <int kCount>
struct SortingNetwork {
  struct Pair {
    int first, second;
  };

  constexpr SortingNetwork() {
    for (int run = 1; run < kCount; run *= 2) {
      for (int by = run; by >= 1; by /= 2) {
        for (int i = by % run; i + by < kCount; ++i) {
          const bool first_of_pair = (i - by % run) / by % 2 == 0;
          const bool within_merge = i / (2 * run) == (i + by) / (2 * run);
          if (first_of_pair && within_merge) pairs[size++] = {i, i + by};
        }
      }
    }
  }

  Pair pairs[kCount * kCount / 2] = {};
  size_t size = 0;
};

// A tile: groups of kM lanes, a power of two of at least a vector, as many groups as a vector has
// lanes. Transposing the tile gives each group a lane of its own, so that sorting vectors sorts all
// groups.
template <int kM>
class TileOfGroups {
  using Ints = hn::ScalableTag<int32_t>;
  using Floats = hn::ScalableTag<float>;
  using IntVector = hn::Vec<Ints>;

 public:
  static constexpr int64_t kMost = kM * static_cast<int64_t>(hn::MaxLanes(Ints()));

  static int64_t numbers() { return kM * static_cast<int64_t>(hn::Lanes(Ints())); }

  // Finds the n-th largest key of each group.
  HWY_INLINE void nth_largest(const int32_t* keys, int64_t n, int32_t* nth) {
    const Ints d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int32_t* const upper = transposed(keys);
    int32_t* const lower = upper + kHalf * lanes;
    sort_half(upper);
    sort_half(lower);
    // For each i, take the smaller of number i of one half and number n - i of the other. It is at
    // most the n-th largest of both, and equals it for the i of them that are among the n.
    auto found = hn::Zero(d);
    for (int64_t i = std::max<int64_t>(0, n - kHalf); i <= std::min<int64_t>(n, kHalf); ++i) {
      auto least = hn::Set(d, INT32_MAX);
      if (i > 0) least = hn::Load(d, upper + (i - 1) * lanes);
      if (i < n) least = hn::Min(least, hn::Load(d, lower + (n - i - 1) * lanes));
      found = hn::Max(found, least);
    }
    hn::Store(found, d, nth);
  }

  // Adds up the numbers of each group in their order, as the definition does.
  HWY_INLINE void sums(const float* all, float* sum) {
    const Floats d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    const auto* const rows =
        reinterpret_cast<const float*>(transposed(reinterpret_cast<const int32_t*>(all)));
    auto total = hn::Zero(d);
    for (int64_t i = 0; i < kM; ++i) total = hn::Add(total, hn::Load(d, rows + i * lanes));
    hn::Store(total, d, sum);
  }

 private:
  static constexpr int kHalf = kM / 2;
  static constexpr SortingNetwork<kHalf> kNetwork{};

  // Makes vector i of number i of every group. Number i of group g is at g * kM + i. Taking even
  // places before odd ones rotates the bits of the place by one.
  HWY_INLINE int32_t* transposed(const int32_t* from) {
    const Ints d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    int32_t *to = work_[0], *other = work_[1];
    for (int bit = 1; bit < kM; bit *= 2) {
      for (int64_t v = 0; v < kHalf; ++v) {
        const int32_t* const pair = from + 2 * v * lanes;
        const auto low = hn::Load(d, pair), high = hn::Load(d, pair + lanes);
        hn::Store(hn::ConcatEven(d, high, low), d, to + v * lanes);
        hn::Store(hn::ConcatOdd(d, high, low), d, to + (kHalf + v) * lanes);
      }
      from = to;
      std::swap(to, other);
    }
    return other;
  }

  // Sorts a half in registers, the largest first.
  static HWY_INLINE void sort_half(int32_t* half) {
    const Ints d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    IntVector rows[kHalf];
    for (int i = 0; i < kHalf; ++i) rows[i] = hn::Load(d, half + i * lanes);
    sort(rows, std::make_index_sequence<kNetwork.size>());
    for (int i = 0; i < kHalf; ++i) hn::Store(rows[i], d, half + i * lanes);
  }

  template <size_t... kPair>
  static HWY_INLINE void sort(IntVector (&rows)[kHalf], std::index_sequence<kPair...> /*all*/) {
    (put_in_order(rows[kNetwork.pairs[kPair].first], rows[kNetwork.pairs[kPair].second]), ...);
  }

  static HWY_INLINE void put_in_order(IntVector& first, IntVector& second) {
    const auto larger = hn::Max(first, second);
    second = hn::Min(first, second);
    first = larger;
  }

  HWY_ALIGN int32_t work_[2][kMost];
};

// Keys as non-negative integers of the same order, so that their bits can be compared. All NaNs are
// equal and above all others.
HWY_INLINE hn::Vec<hn::ScalableTag<int32_t>> ordered(hn::Vec<hn::ScalableTag<float>> keys) {
  const hn::ScalableTag<int32_t> d;
  constexpr int32_t kAboveInfinity = 0x7F800001;
  return hn::Min(hn::BitCast(d, hn::Abs(keys)), hn::Set(d, kAboveInfinity));
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
