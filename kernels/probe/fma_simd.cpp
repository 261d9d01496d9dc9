// The multiply-adds of the probe, for every instruction set that Highway knows.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/probe/fma_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>
// clang-format on

#include "kernels/probe/fma.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Two units with a latency of four or five cycles need eight to ten at a time; a dozen still fit
// the sixteen registers of AVX2.
constexpr int kChains = 12;

int64_t fma_round_flops() {
  return int64_t{2} * kChains * static_cast<int64_t>(hn::Lanes(hn::ScalableTag<float>()));
}

float fma_rounds(int64_t rounds) {
  const hn::ScalableTag<float> d;
  const auto factor = hn::Set(d, 0.999f), term = hn::Set(d, 0.001f);
  hn::Vec<decltype(d)> chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = hn::Set(d, static_cast<float>(i));
  for (int64_t round = 0; round < rounds; ++round) {
    for (auto& link : chain) link = hn::MulAdd(link, factor, term);
  }
  auto sum = chain[0];
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  return hn::GetLane(hn::SumOfLanes(d, sum));
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(fma_rounds);
HWY_EXPORT(fma_round_flops);

float fma_rounds_simd(int64_t rounds) { return HWY_DYNAMIC_DISPATCH(fma_rounds)(rounds); }
int64_t fma_round_flops_simd() { return HWY_DYNAMIC_DISPATCH(fma_round_flops)(); }

}  // namespace approx
#endif
