// GELU and CELU of vectors of floats (kernels/norm/smooth_tails.h). Included once for each
// instruction set that Highway compiles for.
#if defined(APPROX_SMOOTH_TAILS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_SMOOTH_TAILS_INL_H_
#undef APPROX_SMOOTH_TAILS_INL_H_
#else
#define APPROX_SMOOTH_TAILS_INL_H_
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/norm/norm.h"
#include "kernels/norm/smooth_tails.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// The rounding error of square = a * a.
template <typename D>
HWY_INLINE hn::Vec<D> lost_by_square(D d, hn::Vec<D> a, hn::Vec<D> square) {
#if HWY_NATIVE_FMA
  (void)d;
  return hn::MulSub(a, a, square);
#else
  // Dekker 1971: the square of the upper half of the digits is exact.
  const hn::RebindToUnsigned<D> du;
  const auto upper = hn::BitCast(d, hn::And(hn::BitCast(du, a), hn::Set(du, 0xFFFFF000u)));
  const auto lower = hn::Sub(a, upper);
  const auto cross = hn::Mul(upper, lower);
  const auto rest = hn::Add(hn::Sub(hn::Mul(upper, upper), square), hn::Add(cross, cross));
  return hn::Add(rest, hn::Mul(lower, lower));
#endif
}

template <typename D>
struct NormalLaw {
  hn::Vec<D> distribution, density;
};

// Phi(z) and phi(z), for |z| <= kFarthestNormal.
template <typename D>
HWY_INLINE NormalLaw<D> normal_law(D d, hn::Vec<D> z) {
  const auto one = hn::Set(d, 1.0F), half = hn::Set(d, 0.5F);
  const auto a = hn::Abs(z);
  const auto square = hn::Mul(a, a);
  const auto lost = hn::NegMulAdd(lost_by_square(d, a, square), half, one);
  const auto e = hn::Mul(hn::Exp(d, hn::Neg(hn::Mul(square, half))), lost);
  const auto t = hn::Div(one, hn::MulAdd(a, hn::Set(d, kTailScale), one));
  auto mills = hn::Set(d, kMills[kMillsCount - 1]);
  for (size_t i = kMillsCount - 1; i-- > 0;) mills = hn::MulAdd(mills, t, hn::Set(d, kMills[i]));
  const auto tail = hn::Mul(e, mills);
  return {hn::IfThenElse(hn::Lt(z, hn::Zero(d)), tail, hn::Sub(one, tail)),
          hn::Mul(e, hn::Set(d, kDensityAtZero))};
}

// Comparisons instead of maximum and minimum: a NaN stays a NaN.
template <typename D>
HWY_INLINE hn::Vec<D> at_least(D d, hn::Vec<D> z, float bound) {
  const auto least = hn::Set(d, bound);
  return hn::IfThenElse(hn::Lt(z, least), least, z);
}
template <typename D>
HWY_INLINE hn::Vec<D> at_most(D d, hn::Vec<D> z, float bound) {
  const auto most = hn::Set(d, bound);
  return hn::IfThenElse(hn::Gt(z, most), most, z);
}

// The smooth tail of z; a tail that adds a residual gets z with the residual added. alpha is for
// kCelu.
template <NormTail kTail, typename D>
HWY_INLINE hn::Vec<D> smooth_tail(D d, hn::Vec<D> z, float alpha) {
  if constexpr (kTail != NormTail::kCelu) {
    const auto low = at_least(d, z, -kFarthestNormal);
    return hn::Mul(low, normal_law(d, at_most(d, low, kFarthestNormal)).distribution);
  } else {
    const auto below = hn::Expm1(d, hn::Mul(z, hn::Set(d, 1 / alpha)));
    return hn::IfThenElse(hn::Gt(z, hn::Zero(d)), z, hn::Mul(below, hn::Set(d, alpha)));
  }
}

// The slope of the smooth tail at z.
template <NormTail kTail, typename D>
HWY_INLINE hn::Vec<D> smooth_slope(D d, hn::Vec<D> z, float alpha) {
  if constexpr (kTail != NormTail::kCelu) {
    const auto near = at_most(d, at_least(d, z, -kFarthestNormal), kFarthestNormal);
    const auto law = normal_law(d, near);
    return hn::MulAdd(near, law.density, law.distribution);
  } else {
    const auto argument = hn::Mul(z, hn::Set(d, 1 / alpha));
    const auto below = hn::Exp(d, argument);  // 0 for a NaN
    const auto is_number = hn::Eq(z, z);
    const auto slope = hn::IfThenElse(hn::Gt(z, hn::Zero(d)), hn::Set(d, 1.0F), below);
    return hn::IfThenElse(is_number, slope, z);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
