// Choosing n of every m neighbouring lanes. Included once for each instruction set that Highway
// compiles for.
#if defined(APPROX_KERNELS_SELECT_GROUPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_SELECT_GROUPS_INL_H_
#undef APPROX_KERNELS_SELECT_GROUPS_INL_H_
#else
#define APPROX_KERNELS_SELECT_GROUPS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Within groups of m lanes, for each `by`: where the lane that goes round by it is read from, and
// whether that is an earlier one. (Vectors are members of this class alone: the constructor of a
// plain struct of them would be compiled for the least instruction set.)
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

  // The n lanes of largest key of each group; of equal keys the earlier lanes. Keys are `ordered`.
  // kM is m where that is known.
  template <int64_t kM = 0>
  HWY_INLINE hn::Mask<Floats> largest(IntVector key, int64_t n) const {
    const Ints d;
    const int64_t m = kM == 0 ? m_ : kM;
    auto before = hn::Zero(d);  // how many lanes of the group go before this one
    for (int64_t by = 1; by < m; ++by) {
      const auto other = hn::TableLookupLanes(key, rotated_[by]);
      // A mask is -1 in each of its lanes.
      const auto first = hn::Gt(hn::Add(other, earlier_[by]), key);
      before = hn::Sub(before, hn::VecFromMask(d, first));
    }
    return hn::RebindMask(Floats(), hn::Lt(before, hn::Set(d, static_cast<int32_t>(n))));
  }

  // The lanes of each group added up in their order, as the definition adds them, in all its lanes.
  HWY_INLINE Vector sums(Vector all) const {
    auto sum = hn::TableLookupLanes(all, members_[0]);
    for (int64_t i = 1; i < m_; ++i) sum = hn::Add(sum, hn::TableLookupLanes(all, members_[i]));
    return sum;
  }

  // What stays of g, multiplied so that each group has the sum of magnitudes that it had.
  HWY_INLINE Vector rescaled(Vector g, Vector kept) const {
    const Floats d;
    const auto whole = sums(hn::Abs(g)), left = sums(hn::Abs(kept));
    const auto factor =
        hn::IfThenElse(hn::Gt(left, hn::Zero(d)), hn::Div(whole, left), hn::Set(d, 1.0f));
    return hn::Mul(kept, factor);
  }

 private:
  static constexpr int64_t kMost = static_cast<int64_t>(hn::MaxLanes(Ints()));

  int64_t m_;
  IntIndices rotated_[kMost];
  IntVector earlier_[kMost];
  FloatIndices members_[kMost];
};

// The same for groups of kOf whole vectors.
template <int kOf>
class GroupsOfVectors {
  using Ints = hn::ScalableTag<int32_t>;
  using IntVector = hn::Vec<Ints>;
  using Mask = hn::Mask<hn::ScalableTag<float>>;

 public:
  GroupsOfVectors() {
    const auto lanes = static_cast<int64_t>(hn::Lanes(Ints()));
    for (int64_t own = 0; own < lanes; ++own) {
      for (int64_t lane = 0; lane < lanes; ++lane) later_[own * lanes + lane] = lane > own;
    }
  }

  // What stays of each vector of the group: its n lanes of largest key, of equal keys the earlier
  // ones.
  HWY_INLINE void largest(const IntVector (&key)[kOf], int64_t n, Mask (&stays)[kOf]) const {
    const Ints d;
    const auto lanes = static_cast<int64_t>(hn::Lanes(d));
    HWY_ALIGN int32_t keys[kOf * kMost];
    IntVector before[kOf];  // how many lanes of the group go before this one
    for (int v = 0; v < kOf; ++v) {
      hn::Store(key[v], d, keys + v * lanes);
      before[v] = hn::Zero(d);
    }
    for (int of = 0; of < kOf; ++of) {
      for (int64_t lane = 0; lane < lanes; ++lane) {
        const auto other = hn::Set(d, keys[of * lanes + lane]);
        const auto or_equal = hn::Add(other, hn::Set(d, 1));
        for (int v = 0; v < kOf; ++v) {
          const auto last = v < of   ? other
                            : v > of ? or_equal
                                     : hn::Add(other, hn::Load(d, later_ + lane * lanes));
          before[v] = hn::Sub(before[v], hn::VecFromMask(d, hn::Gt(last, key[v])));
        }
      }
    }
    for (int v = 0; v < kOf; ++v) {
      stays[v] = hn::RebindMask(hn::ScalableTag<float>(),
                                hn::Lt(before[v], hn::Set(d, static_cast<int32_t>(n))));
    }
  }

 private:
  static constexpr int64_t kMost = static_cast<int64_t>(hn::MaxLanes(Ints()));

  HWY_ALIGN int32_t later_[kMost * kMost];  // of each lane: which lanes lie behind it
};

// Keys as whole numbers, in their order: not negative, so that their bits have it; every NaN the
// same and above all.
HWY_INLINE hn::Vec<hn::ScalableTag<int32_t>> ordered(hn::Vec<hn::ScalableTag<float>> keys) {
  const hn::ScalableTag<int32_t> d;
  constexpr int32_t kAboveInfinity = 0x7F800001;
  return hn::Min(hn::BitCast(d, hn::Abs(keys)), hn::Set(d, kAboveInfinity));
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
