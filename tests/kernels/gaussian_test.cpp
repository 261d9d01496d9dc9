#include "kernels/gaussian/gaussian.h"

#include <cmath>
#include <vector>

#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

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

TEST(Gaussian, EveryVariantAgreesWithTheDefinition) {
  for (const auto& o : uneven_operands(8, 91)) {
    expect_variants_agree(Gaussian{.mean = 0.5, .stddev = 2, .rng = {.seed = 4}}, o);
  }
  auto forward = uneven_operands(1, 92)[0];
  forward.product = Product::kForward;
  EXPECT_TRUE(variants(Gaussian{}, forward).empty());
}

}  // namespace
}  // namespace approx
