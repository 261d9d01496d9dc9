#include "kernels/rng.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "kernels/gaussian/gaussian.h"

namespace approx {
namespace {

using Block = std::array<uint32_t, 4>;

// The known-answer vectors of Philox4x32-10 that its authors publish with Random123.
TEST(Philox, MatchesThePublishedVectors) {
  EXPECT_EQ(Philox::block({0, 0, 0, 0}, 0),
            (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(Philox::block({~0u, ~0u, ~0u, ~0u}, ~0ull),
            (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(Philox::block({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822ull),
            (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, EveryUseHasItsOwnStream) {
  std::set<Block> counters;
  for (uint32_t layer : {0u, 1u, 65535u}) {
    for (uint64_t step : {0ull, 1ull, 1ull << 32}) {
      for (const auto product : kAllProducts) {
        for (uint32_t stream : {0u, 1u, 4095u}) {
          counters.insert(Rng{5, layer, step, product, stream}.counter(0));
        }
      }
    }
  }
  EXPECT_EQ(counters.size(), 3u * 3 * 3 * 3);
}

TEST(Rng, UniformStaysInsideTheOpenInterval) {
  EXPECT_GT(Rng::uniform(0), 0.0f);
  EXPECT_LT(Rng::uniform(~0u), 1.0f);
  EXPECT_EQ(Rng::below(10, ~0u), 9u);
  EXPECT_EQ(Rng::below(10, 0), 0u);
}

std::vector<float> draws(void (*fill)(const GaussianArgs&, int64_t, int64_t), int64_t count) {
  std::vector<float> out(static_cast<size_t>(count), -99.0f);
  fill({0.5f, 2.0f, Rng{.seed = 3, .layer = 2, .step = 9}, out.data()}, 0, count);
  return out;
}

TEST(Gaussian, SimdAgreesWithTheReferenceAtEveryLength) {
  for (int64_t count : {0, 1, 3, 4, 5, 31, 32, 33, 64, 65, 127, 1000}) {
    const auto simd = draws(gaussian_simd, count), reference = draws(gaussian_reference, count);
    for (size_t i = 0; i < simd.size(); ++i) ASSERT_NEAR(simd[i], reference[i], 2e-5) << count;
  }
}

TEST(Gaussian, AnySplitGivesTheSameNumbers) {
  const auto whole = draws(gaussian_simd, 1000);
  std::vector<float> parts(1000);
  const GaussianArgs args{0.5f, 2.0f, Rng{.seed = 3, .layer = 2, .step = 9}, parts.data()};
  for (const auto& [begin, end] : {std::pair<int64_t, int64_t>{500, 1000}, {0, 4}, {4, 500}}) {
    gaussian_simd(args, begin, end);
  }
  EXPECT_EQ(whole, parts);
}

// Mean and variance within 5 standard errors: a false alarm in about a million runs, and the draws
// are fixed by the seed.
TEST(Gaussian, HasTheRightMoments) {
  constexpr int64_t kCount = 400000;
  const auto sample = draws(gaussian_simd, kCount);
  double mean = 0, square = 0, fourth = 0;
  for (const float v : sample) {
    const double z = (v - 0.5) / 2.0;
    mean += z / kCount;
    square += z * z / kCount;
    fourth += z * z * z * z / kCount;
  }
  EXPECT_NEAR(mean, 0, 5 / std::sqrt(kCount));
  EXPECT_NEAR(square, 1, 5 * std::sqrt(2.0 / kCount));
  EXPECT_NEAR(fourth, 3, 5 * std::sqrt(96.0 / kCount));
}

}  // namespace
}  // namespace approx
