// Loads vectors of floats from memory in either precision, and stores them. Included once for each
// instruction set that Highway compiles for.
#if defined(APPROX_KERNELS_BFLOAT16_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_BFLOAT16_INL_H_
#undef APPROX_KERNELS_BFLOAT16_INL_H_
#else
#define APPROX_KERNELS_BFLOAT16_INL_H_
#endif

#include <hwy/highway.h>

#include <type_traits>

#include "kernels/bfloat16.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Loads one number for each lane of a vector of floats.
template <typename D>
HWY_INLINE hn::Vec<D> load_numbers(D d, const float* from) {
  return hn::LoadU(d, from);
}
template <typename D>
HWY_INLINE hn::Vec<D> load_numbers(D d, const BFloat16* from) {
  const hn::RebindToUnsigned<D> du;
  const hn::Rebind<uint16_t, D> halves;
  const auto bits = hn::LoadU(halves, reinterpret_cast<const uint16_t*>(from));
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, bits)));
}

// Whether for_each_vector takes vectors in pairs: the numbers of even places, then those of odd
// ones.
template <typename Number, int kVectors>
inline constexpr bool kByTwos = kVectors % 2 == 0 && std::is_same_v<Number, BFloat16>;

// Calls use(v, vector) for kVectors vectors of the numbers at `from`. A pair of BFloat16 vectors is
// split by a shift and a mask, half the instructions of two loads. store_vectors restores the
// order.
template <int kVectors, typename D, typename Number, typename Use>
HWY_INLINE void for_each_vector(D d, const Number* from, Use use) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (kByTwos<Number, kVectors>) {
    const hn::RebindToUnsigned<D> du;
    const hn::Repartition<uint16_t, D> d16;
    for (int v = 0; v < kVectors; v += 2) {
      const auto* const bits = reinterpret_cast<const uint16_t*>(from + v * lanes);
      const auto two = hn::BitCast(du, hn::LoadU(d16, bits));
      use(v, hn::BitCast(d, hn::ShiftLeft<16>(two)));
      use(v + 1, hn::BitCast(d, hn::And(two, hn::Set(du, 0xFFFF0000u))));
    }
  } else {
    for (int v = 0; v < kVectors; ++v) use(v, load_numbers(d, from + v * lanes));
  }
}

// Stores a result for each of the vectors that for_each_vector gave, in the order of the numbers.
template <typename Number, int kVectors, typename D>
HWY_INLINE void store_vectors(D d, const hn::Vec<D> (&vectors)[kVectors], hn::TFromD<D>* to) {
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  if constexpr (kByTwos<Number, kVectors>) {
    for (int v = 0; v < kVectors; v += 2) {
      hn::StoreInterleaved2(vectors[v], vectors[v + 1], d, to + v * lanes);
    }
  } else {
    for (int v = 0; v < kVectors; ++v) hn::StoreU(vectors[v], d, to + v * lanes);
  }
}

template <typename D, typename V>
HWY_INLINE void store_upper_halves(D /*d*/, V whole, BFloat16* to) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<uint16_t, D> halves;
  const auto upper = hn::BitCast(di, hn::ShiftRight<16>(whole));  // below 2^16: nothing saturates
  hn::StoreU(hn::DemoteTo(halves, upper), halves, reinterpret_cast<uint16_t*>(to));
}

// Stores numbers that load_numbers or for_each_vector loaded, unchanged.
template <typename D>
HWY_INLINE void store_same(D d, hn::Vec<D> v, float* to) {
  hn::StoreU(v, d, to);
}
template <typename D>
HWY_INLINE void store_same(D d, hn::Vec<D> v, BFloat16* to) {
  store_upper_halves(d, hn::BitCast(hn::RebindToUnsigned<D>(), v), to);
}

// Stores floats; BFloat16 ones are rounded as BFloat16 rounds.
template <typename D>
HWY_INLINE void store_rounded(D d, hn::Vec<D> v, float* to) {
  hn::StoreU(v, d, to);
}
template <typename D>
HWY_INLINE void store_rounded(D d, hn::Vec<D> v, BFloat16* to) {
  const hn::RebindToUnsigned<D> du;
  const auto whole = hn::BitCast(du, v);
  const auto odd = hn::And(hn::ShiftRight<16>(whole), hn::Set(du, 1));
  const auto rounded = hn::Add(whole, hn::Add(hn::Set(du, 0x7FFF), odd));
  const auto quiet = hn::Set(du, 0x7FC00000);
  const auto is_number = hn::RebindMask(du, hn::Eq(v, v));
  store_upper_halves(d, hn::IfThenElse(is_number, rounded, quiet), to);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
