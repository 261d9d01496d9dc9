// The stream of kernels/rng.h in vectors, for files that Highway compiles once for each instruction
// set. Included after <hwy/highway.h>, between the uses of the two HWY_TARGET macros.
#if defined(APPROX_PHILOX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_PHILOX_INL_H
#undef APPROX_PHILOX_INL_H
#else
#define APPROX_PHILOX_INL_H
#endif

#include <hwy/highway.h>

#include "kernels/rng.h"

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {

// The words of one stream in order, kStates vectors of counters at a time. The rounds of one state
// depend on each other; those of several states overlap.
template <int kStates>
class PhiloxStream {
  using D32 = hwy::HWY_NAMESPACE::ScalableTag<uint32_t>;
  using D64 = hwy::HWY_NAMESPACE::ScalableTag<uint64_t>;
  using V32 = hwy::HWY_NAMESPACE::Vec<D32>;
  using V64 = hwy::HWY_NAMESPACE::Vec<D64>;

 public:
  static constexpr int kVectors = 2 * kStates;  // vectors of words per call

  explicit PhiloxStream(const Rng& rng) : first_(rng.counter(0)) {
    auto k0 = static_cast<uint32_t>(rng.seed), k1 = static_cast<uint32_t>(rng.seed >> 32);
    for (int round = 0; round < Philox::kRounds; ++round) {
      key0_[round] = k0, key1_[round] = k1;
      k0 += Philox::kWeyl0;
      k1 += Philox::kWeyl1;
    }
    // Interleaving the pairs of words of a vector of counters gives two vectors. Their blocks of
    // 128 bits are of even and of odd lanes. With counters in this order, both vectors are in
    // order.
    const D64 d;
    const auto lanes = static_cast<uint64_t>(hwy::HWY_NAMESPACE::Lanes(d));
    for (uint64_t i = 0; i < lanes; ++i) offset_[i] = i / 2 + (i % 2) * (lanes / 2);
  }

  // The words from 4 * block on, kVectors vectors of them.
  HWY_INLINE void words(uint32_t block, V32 (&out)[kVectors]) const {
    namespace hn = hwy::HWY_NAMESPACE;
    const D64 d;
    const D32 d32;
    const auto lanes = static_cast<uint32_t>(hn::Lanes(d));
    // One word per lane of 64 bits. The upper 32 bits of a lane may hold anything: products read
    // only the lower halves.
    V64 c0[kStates], c1[kStates], c2[kStates], c3[kStates];
    for (int s = 0; s < kStates; ++s) {
      c0[s] = hn::Add(hn::Load(d, offset_), hn::Set(d, uint64_t{block + s * lanes}));
      c1[s] = hn::Set(d, uint64_t{first_[1]});
      c2[s] = hn::Set(d, uint64_t{first_[2]});
      c3[s] = hn::Set(d, uint64_t{first_[3]});
    }
    const auto multiplier0 = hn::Set(d32, Philox::kMultiplier0);
    const auto multiplier1 = hn::Set(d32, Philox::kMultiplier1);
    for (int round = 0; round < Philox::kRounds; ++round) {
      const auto key0 = hn::Set(d, uint64_t{key0_[round]});
      const auto key1 = hn::Set(d, uint64_t{key1_[round]});
      for (int s = 0; s < kStates; ++s) {
        const V64 p0 = hn::MulEven(hn::BitCast(d32, c0[s]), multiplier0);
        const V64 p1 = hn::MulEven(hn::BitCast(d32, c2[s]), multiplier1);
        c0[s] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p1), c1[s]), key0);
        c2[s] = hn::Xor(hn::Xor(hn::ShiftRight<32>(p0), c3[s]), key1);
        c1[s] = p1;
        c3[s] = p0;
      }
    }
    const auto low = hn::Set(d, 0xFFFFFFFFull);
    for (int s = 0; s < kStates; ++s) {
      const V64 w01 = hn::Or(hn::And(c0[s], low), hn::ShiftLeft<32>(c1[s]));
      const V64 w23 = hn::Or(hn::And(c2[s], low), hn::ShiftLeft<32>(c3[s]));
      out[2 * s] = hn::BitCast(d32, hn::InterleaveLower(d, w01, w23));
      out[2 * s + 1] = hn::BitCast(d32, hn::InterleaveUpper(d, w01, w23));
    }
  }

 private:
  std::array<uint32_t, 4> first_;
  uint32_t key0_[Philox::kRounds], key1_[Philox::kRounds];
  HWY_ALIGN uint64_t offset_[hwy::HWY_NAMESPACE::MaxLanes(D64())];
};

// Rng::uniform of every word, with equal bits.
template <typename V>
HWY_INLINE auto uniform_of(V words) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::ScalableTag<float> d;
  const hn::ScalableTag<int32_t> di;
  const auto whole = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<9>(words)));
  return hn::Mul(hn::Add(whole, hn::Set(d, 0.5f)), hn::Set(d, 1.0f / 8388608.0f));
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif  // per target
