// The error of GELU, CELU and their slopes in single precision, over the whole range of floats.
#include "kernels/norm/smooth_tails.h"

#include <gtest/gtest.h>
#include <hwy/highway.h>
#include <hwy/targets.h>

#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "kernels/norm/norm.h"

namespace approx {
namespace {

double distribution_at(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }
double density_at(double z) { return std::exp(-z * z / 2) / std::sqrt(2 * std::numbers::pi); }

// The tail of each z and its slope there, by the kernels that training uses.
struct TailAndSlope {
  std::vector<float> tail, slope;
};

TailAndSlope computed_by(const NormPasses<float>& passes, NormTail tail, float alpha,
                         const std::vector<float>& z) {
  const auto count = static_cast<int64_t>(z.size());
  const std::vector<float> ones(z.size(), 1), zeros(z.size(), 0);
  TailAndSlope found{std::vector<float>(z.size()), std::vector<float>(z.size())};
  passes.apply({.channels = count,
                .tail = tail,
                .x = z.data(),
                .scale = ones.data(),
                .offset = zeros.data(),
                .y = found.tail.data(),
                .alpha = alpha},
               0, 1);
  std::vector<float> product(z.size());
  passes.sums({.channels = count,
               .tail = tail,
               .dy = ones.data(),
               .x = z.data(),
               .scale = ones.data(),
               .offset = zeros.data(),
               .mean = zeros.data(),
               .alpha = alpha},
              0, 1, found.slope.data(), product.data());
  return found;
}

const NormPasses<float>& by_simd() {
  return Registry<NormVariant>::instance().find("simd").of_float;
}

// Calls use() with each of the instruction sets that round differently and are here.
void for_instruction_sets(const std::function<void()>& use) {
#if HWY_ARCH_X86
  for (const int64_t target : {HWY_AVX3, HWY_AVX2, HWY_SSE4}) {
    if ((hwy::SupportedTargets() & target) == 0) continue;
    SCOPED_TRACE(hwy::TargetName(target));
    hwy::SetSupportedTargetsForTest(target);
    use();
    hwy::SetSupportedTargetsForTest(0);
  }
#else
  use();
#endif
}

// Every 1021st float that is one, from all exponents and both signs.
void for_floats(const std::function<void(const std::vector<float>&)>& use) {
  constexpr uint64_t kStride = 1021, kChunk = 1 << 16;
  std::vector<float> values;
  for (uint64_t bits = 0; bits <= std::numeric_limits<uint32_t>::max(); bits += kStride) {
    const auto value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isfinite(value)) values.push_back(value);
    if (values.size() < kChunk) continue;
    use(values);
    values.clear();
  }
  use(values);
}

// The largest error in units of `scale`, beyond what the smallest floats cannot hold.
struct LargestError {
  double error = 0;
  float at = 0;

  void see(double found, double wanted, double scale, float z) {
    constexpr double kLeast = 32 * 0x1p-149;  // a product with a denormal factor of |z| < 15
    const double off = std::abs(found - wanted);
    const double share = off <= kLeast ? 0 : off / scale;
    if (share > error || std::isnan(share)) error = share, at = z;
  }
};

// Stated in kernels/norm/smooth_tails.h.
TEST(SmoothTails, GeluIsWithinItsErrorForEveryFloat) {
  for_instruction_sets([] {
    LargestError of_tail, of_slope;
    for_floats([&](const std::vector<float>& z) {
      const auto found = computed_by(by_simd(), NormTail::kGelu, 1, z);
      for (size_t i = 0; i < z.size(); ++i) {
        const double at = z[i], law = distribution_at(at), rising = at * density_at(at);
        of_tail.see(found.tail[i], at * law, std::abs(at * law), z[i]);
        of_slope.see(found.slope[i], law + rising, law + std::abs(rising), z[i]);
      }
    });
    EXPECT_LE(of_tail.error, 6e-7) << "at " << of_tail.at;
    EXPECT_LE(of_slope.error, 6e-7) << "at " << of_slope.at;
  });
}

TEST(SmoothTails, CeluIsWithinItsErrorForEveryFloat) {
  for_instruction_sets([] {
    for (const float alpha : {0.3F, 7.0F}) {
      LargestError of_tail, of_slope;
      for_floats([&](const std::vector<float>& z) {
        const auto found = computed_by(by_simd(), NormTail::kCelu, alpha, z);
        for (size_t i = 0; i < z.size(); ++i) {
          const double at = z[i];
          const double tail = at > 0 ? at : alpha * std::expm1(at / alpha);
          of_tail.see(found.tail[i], tail, std::abs(tail), z[i]);
          of_slope.see(found.slope[i], at > 0 ? 1 : std::exp(at / alpha), 1, z[i]);
        }
      });
      EXPECT_LE(of_tail.error, 3e-7) << "at " << of_tail.at << ", alpha " << alpha;
      EXPECT_LE(of_slope.error, 1e-7) << "at " << of_slope.at << ", alpha " << alpha;
    }
  });
}

TEST(SmoothTails, AreTheirLimitsAtTheInfinitiesAndKeepWhatIsNoNumber) {
  constexpr float kInfinite = std::numeric_limits<float>::infinity();
  // Once in vectors and once one by one.
  for (const size_t count : {size_t{64}, size_t{1}}) {
    for (const auto tail : {NormTail::kGelu, NormTail::kCelu}) {
      SCOPED_TRACE(static_cast<int>(tail));
      const auto at = [&](float z) {
        const auto found = computed_by(by_simd(), tail, 0.5F, std::vector<float>(count, z));
        return found.tail.back();
      };
      EXPECT_EQ(at(kInfinite), kInfinite);
      EXPECT_EQ(at(-kInfinite), tail == NormTail::kGelu ? 0 : -0.5F);
      EXPECT_TRUE(std::isnan(at(NAN)));
      EXPECT_EQ(at(0), 0);
      EXPECT_EQ(at(std::numeric_limits<float>::max()), std::numeric_limits<float>::max());
      const auto slope_at = [&](float z) {
        return computed_by(by_simd(), tail, 0.5F, std::vector<float>(count, z)).slope.back();
      };
      EXPECT_EQ(slope_at(kInfinite), 1);
      EXPECT_EQ(slope_at(-kInfinite), 0);
      EXPECT_TRUE(std::isnan(slope_at(NAN)));
    }
  }
}

}  // namespace
}  // namespace approx
