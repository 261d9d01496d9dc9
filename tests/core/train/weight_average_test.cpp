#include "core/train/weight_average.h"

#include <ATen/core/grad_mode.h>

#include "tests/testing.h"

namespace approx {
namespace {

TEST(WeightAverage, IsTheExponentialAverageOfAllFloats) {
  const auto weight = at::full({3}, 1.0f).requires_grad_();
  const auto running_mean = at::full({2}, 10.0f);
  const auto count = at::full({}, 7, at::kLong);
  WeightAverage average({{"weight", weight}, {"mean", running_mean}, {"count", count}}, 0.5);
  ASSERT_EQ(average.state().size(), 2u) << "a counter has no average";
  double expected = 1, buffer = 10;
  for (int64_t step = 0; step < 20; ++step) {
    const auto value = static_cast<double>(step * step);
    {
      const at::NoGradGuard no_grad;
      weight.fill_(value);
    }
    running_mean.fill_(-value);
    average.update(step);
    const double decay = std::min(0.5, (1.0 + double(step)) / (10.0 + double(step)));
    expected = decay * expected + (1 - decay) * value;
    buffer = decay * buffer - (1 - decay) * value;
    EXPECT_NEAR(average.state()[0].second[1].item<double>(), expected, 1e-4 * value + 1e-5);
    EXPECT_NEAR(average.state()[1].second[1].item<double>(), buffer, 1e-4 * value + 1e-5);
  }
}

TEST(WeightAverage, SwapsBackAndForthWithoutACopy) {
  const auto weight = at::full({3}, 1.0f).requires_grad_();
  WeightAverage average({{"weight", weight}}, 0.9);
  {
    const at::NoGradGuard no_grad;
    weight.fill_(5);
  }
  const auto* before = weight.const_data_ptr();
  average.swap();
  EXPECT_EQ(weight[0].item<float>(), 1);
  EXPECT_EQ(average.state()[0].second[0].item<float>(), 5);
  EXPECT_TRUE(weight.requires_grad());
  average.swap();
  EXPECT_EQ(weight[0].item<float>(), 5);
  EXPECT_EQ(weight.const_data_ptr(), before);
}

}  // namespace
}  // namespace approx
