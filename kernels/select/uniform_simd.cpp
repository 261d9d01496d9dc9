#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/select/uniform_simd.cpp"
#include <hwy/foreach_target.h>
// clang-format off: must follow foreach_target.h
#include <hwy/highway.h>

#include "kernels/philox-inl.h"
// clang-format on

#include <algorithm>

#include "kernels/select/uniform.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void fill(const Rng& rng, int64_t first, int64_t count, float* out) {
  using Stream = PhiloxStream<2>;
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<int64_t>(hn::Lanes(d)), step = Stream::kVectors * lanes;
  const Stream stream(rng);
  const auto write = [&](int64_t word, float* to) HWY_ATTR {
    hn::Vec<hn::ScalableTag<uint32_t>> words[Stream::kVectors];
    stream.words(static_cast<uint32_t>(word / 4), words);
    for (int v = 0; v < Stream::kVectors; ++v) hn::StoreU(uniform_of(words[v]), d, to + v * lanes);
  };
  int64_t i = 0;
  for (; i + step <= count; i += step) write(first + i, out + i);
  if (i == count) return;
  HWY_ALIGN float last[Stream::kVectors * hn::MaxLanes(d)];
  write(first + i, last);
  std::copy_n(last, count - i, out + i);
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace approx {

HWY_EXPORT(fill);

void fill_uniform(const Rng& rng, int64_t first, int64_t count, float* out) {
  HWY_DYNAMIC_DISPATCH(fill)(rng, first, count, out);
}

}  // namespace approx
#endif
