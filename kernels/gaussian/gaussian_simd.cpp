// The same numbers as the reference, a vector of counters at a time, for every instruction set that
// Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gaussian/gaussian_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>
// clang-format on

#include <numbers>

#include "kernels/gaussian/gaussian.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<uint32_t>;
using V32 = hn::Vec<D32>;

// High words of the 64-bit products: even lanes by MulEven, odd lanes by MulEven of the shifted.
HWY_INLINE V32 mul_high(D32 d, V32 a, uint32_t b) {
  const hn::Repartition<uint64_t, D32> d64;
  const auto factor = hn::Set(d, b);
  const auto even = hn::ShiftRight<32>(hn::MulEven(a, factor));
  const auto shifted = hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(d64, a)));
  const auto odd = hn::And(hn::MulEven(shifted, factor), hn::Set(d64, 0xFFFFFFFF00000000ull));
  return hn::BitCast(d, hn::Or(even, odd));
}

struct Words {
  V32 w0, w1, w2, w3;
};

HWY_INLINE Words philox(D32 d, V32 index, const Rng& rng) {
  const auto first = rng.counter(0);
  V32 c0 = index, c1 = hn::Set(d, first[1]), c2 = hn::Set(d, first[2]), c3 = hn::Set(d, first[3]);
  auto k0 = static_cast<uint32_t>(rng.seed), k1 = static_cast<uint32_t>(rng.seed >> 32);
  for (int round = 0; round < Philox::kRounds; ++round) {
    const V32 high0 = mul_high(d, c0, Philox::kMultiplier0);
    const V32 low0 = hn::Mul(c0, hn::Set(d, Philox::kMultiplier0));
    const V32 high1 = mul_high(d, c2, Philox::kMultiplier1);
    const V32 low1 = hn::Mul(c2, hn::Set(d, Philox::kMultiplier1));
    c0 = hn::Xor(hn::Xor(high1, c1), hn::Set(d, k0));
    c2 = hn::Xor(hn::Xor(high0, c3), hn::Set(d, k1));
    c1 = low1;
    c3 = low0;
    k0 += Philox::kWeyl0;
    k1 += Philox::kWeyl1;
  }
  return {c0, c1, c2, c3};
}

template <class DF>
HWY_INLINE hn::Vec<DF> uniform(DF df, V32 word) {
  const hn::RebindToSigned<DF> di;
  const auto real = hn::ConvertTo(df, hn::BitCast(di, hn::ShiftRight<9>(word)));
  return hn::Mul(hn::Add(real, hn::Set(df, 0.5f)), hn::Set(df, 1.0f / 8388608.0f));
}

void fill(const GaussianArgs& args, int64_t begin, int64_t end) {
  const D32 d;
  const hn::Rebind<float, D32> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mean = hn::Set(df, args.mean), stddev = hn::Set(df, args.stddev);
  const auto two_pi = hn::Set(df, 2 * std::numbers::pi_v<float>);
  for (int64_t i = begin; i < end; i += 4 * lanes) {
    const auto index = hn::Iota(d, static_cast<uint32_t>(i / 4));
    const Words words = philox(d, index, args.rng);
    const auto radius0 =
        hn::Mul(stddev, hn::Sqrt(hn::Mul(hn::Set(df, -2.0f), hn::Log(df, uniform(df, words.w0)))));
    const auto radius1 =
        hn::Mul(stddev, hn::Sqrt(hn::Mul(hn::Set(df, -2.0f), hn::Log(df, uniform(df, words.w2)))));
    const auto angle0 = hn::Mul(two_pi, uniform(df, words.w1));
    const auto angle1 = hn::Mul(two_pi, uniform(df, words.w3));
    const auto n0 = hn::MulAdd(radius0, hn::Cos(df, angle0), mean);
    const auto n1 = hn::MulAdd(radius0, hn::Sin(df, angle0), mean);
    const auto n2 = hn::MulAdd(radius1, hn::Cos(df, angle1), mean);
    const auto n3 = hn::MulAdd(radius1, hn::Sin(df, angle1), mean);
    if (i + 4 * lanes <= end) {
      hn::StoreInterleaved4(n0, n1, n2, n3, df, args.out + i);
    } else {
      float last[4 * hn::MaxLanes(df)];
      hn::StoreInterleaved4(n0, n1, n2, n3, df, last);
      for (int64_t j = i; j < end; ++j) args.out[j] = last[j - i];
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(fill);

void gaussian_simd(const GaussianArgs& args, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(fill)(args, begin, end);
}

REGISTER_KERNEL(Gaussian, "simd", gaussian_simd)
    .computes({Product::kWeightGradient})
    .on({Hardware::kCpu})
    .rank(1);

}  // namespace approx
#endif
