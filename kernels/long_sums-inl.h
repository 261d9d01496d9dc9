// Vectors of short sums, added up in double (kernels/long_sums.h). Included once for each
// instruction set that Highway compiles for.
#if defined(APPROX_KERNELS_LONG_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_LONG_SUMS_INL_H_
#undef APPROX_KERNELS_LONG_SUMS_INL_H_
#else
#define APPROX_KERNELS_LONG_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "kernels/long_sums.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The tag of single numbers: the remainder after the last vector is added up in the same order.
using Single = hn::CappedTag<float, 1>;

// The lower or the upper half of a whole vector of floats, as doubles.
HWY_INLINE hn::Vec<hn::ScalableTag<double>> lower_in_double(hn::Vec<hn::ScalableTag<float>> v) {
  const hn::ScalableTag<double> d;
  return hn::PromoteTo(d, hn::LowerHalf(hn::Half<hn::ScalableTag<float>>(), v));
}
HWY_INLINE hn::Vec<hn::ScalableTag<double>> upper_in_double(hn::Vec<hn::ScalableTag<float>> v) {
  const hn::ScalableTag<double> d;
  return hn::PromoteTo(d, hn::UpperHalf(hn::Half<hn::ScalableTag<float>>(), v));
}

// Stores a vector of floats in memory as doubles, or adds it to the doubles there.
template <typename D>
HWY_INLINE void store_in_double(D d, hn::Vec<D> v, double* to) {
  if constexpr (hn::MaxLanes(d) == 1) {
    *to = double{hn::GetLane(v)};
  } else {
    const hn::ScalableTag<double> dd;
    hn::StoreU(lower_in_double(v), dd, to);
    hn::StoreU(upper_in_double(v), dd, to + hn::Lanes(dd));
  }
}
template <typename D>
HWY_INLINE void add_in_double(D d, hn::Vec<D> v, double* to) {
  if constexpr (hn::MaxLanes(d) == 1) {
    *to += double{hn::GetLane(v)};
  } else {
    const hn::ScalableTag<double> dd;
    const auto half = hn::Lanes(dd);
    hn::StoreU(hn::Add(hn::LoadU(dd, to), lower_in_double(v)), dd, to);
    hn::StoreU(hn::Add(hn::LoadU(dd, to + half), upper_in_double(v)), dd, to + half);
  }
}

// Loads one double for each lane of a vector of floats, and rounds them to float.
template <typename D>
HWY_INLINE hn::Vec<D> load_doubles(D d, const double* from) {
  if constexpr (hn::MaxLanes(d) == 1) {
    return hn::Set(d, static_cast<float>(*from));
  } else {
    const hn::ScalableTag<double> dd;
    const hn::Half<D> half;
    const auto low = hn::DemoteTo(half, hn::LoadU(dd, from)),
               high = hn::DemoteTo(half, hn::LoadU(dd, from + hn::Lanes(dd)));
    return hn::Combine(d, high, low);
  }
}

// Whether all lanes of a vector can be represented as finite floats.
template <typename D>
HWY_INLINE bool all_finite(D d, hn::Vec<D> v) {
  return hn::AllTrue(d, hn::Le(hn::Abs(v), hn::Set(d, std::numeric_limits<float>::max())));
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
