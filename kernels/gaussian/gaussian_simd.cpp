// The same numbers as the reference, a vector of counters at a time, for every instruction set that
// Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gaussian/gaussian_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "kernels/philox-inl.h"
// clang-format on

#include <numbers>

#include "kernels/gaussian/gaussian.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D32 = hn::ScalableTag<uint32_t>;
using Stream = PhiloxStream<2>;  // four vectors: one of each word of as many counters

void fill(const GaussianArgs& args, int64_t begin, int64_t end) {
  const D32 d;
  const hn::Rebind<float, D32> df;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d));
  const auto mean = hn::Set(df, args.mean), stddev = hn::Set(df, args.stddev);
  const auto two_pi = hn::Set(df, 2 * std::numbers::pi_v<float>);
  const Stream stream(args.rng);
  hn::Vec<D32> in_order[Stream::kVectors];
  HWY_ALIGN uint32_t words[4 * hn::MaxLanes(D32())];
  for (int64_t i = begin; i < end; i += 4 * lanes) {
    hn::Vec<D32> w0, w1, w2, w3;
    stream.words(static_cast<uint32_t>(i / 4), in_order);
    for (int v = 0; v < Stream::kVectors; ++v) hn::Store(in_order[v], d, words + v * lanes);
    hn::LoadInterleaved4(d, words, w0, w1, w2, w3);
    const auto radius0 =
        hn::Mul(stddev, hn::Sqrt(hn::Mul(hn::Set(df, -2.0f), hn::Log(df, uniform_of(w0)))));
    const auto radius1 =
        hn::Mul(stddev, hn::Sqrt(hn::Mul(hn::Set(df, -2.0f), hn::Log(df, uniform_of(w2)))));
    const auto angle0 = hn::Mul(two_pi, uniform_of(w1));
    const auto angle1 = hn::Mul(two_pi, uniform_of(w3));
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
