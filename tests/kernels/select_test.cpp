#include "kernels/select/select.h"

#include "tests/testing.h"

namespace approx {
namespace {

TEST(PlanePeak, TiesGoToTheFirstAndTheSumIsSigned) {
  const auto dy = at::tensor({1.f, -5.f, 5.f, 0.5f}).view({1, 1, 2, 2});
  const auto [position, sum] = plane_peak(dy);
  EXPECT_EQ(position.item<int64_t>(), 1);
  EXPECT_FLOAT_EQ(sum.item<float>(), 1.5f);
}

TEST(PlanePeak, AllZeroAndAllEqualPlanesTakeTheFirstPosition) {
  for (const float value : {0.0f, -2.0f}) {
    for (int64_t channels : {1, 7, 8, 9, 33}) {
      const auto [position, sum] = plane_peak(at::full({2, channels, 3, 3}, value));
      EXPECT_EQ(position.abs().max().item<int64_t>(), 0);
      EXPECT_CLOSE(sum, at::full({2, channels, 1}, 9 * value));
    }
  }
}

TEST(PlanePeak, SimdAgreesWithTheReferenceAndWithArgmax) {
  for (int64_t channels : {1, 3, 4, 7, 8, 9, 16, 31, 32, 33, 64, 65, 100}) {
    for (int64_t side : {1, 2, 5}) {
      at::manual_seed(static_cast<uint64_t>(channels));
      const auto dy = at::randn({2, channels, side, side});
      const auto [position, sum] = plane_peak(dy);
      const auto [reference_position, reference_sum] = plane_peak(dy, Choosing::kReference);
      EXPECT_TRUE(at::equal(position, reference_position));
      EXPECT_CLOSE(sum, reference_sum);
      EXPECT_TRUE(at::equal(position.squeeze(-1).to(at::kLong), dy.flatten(2).abs().argmax(-1)));
      EXPECT_CLOSE(sum.squeeze(-1), dy.flatten(2).sum(-1));
    }
  }
}

}  // namespace
}  // namespace approx
