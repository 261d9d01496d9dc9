#include "core/train/lookahead.h"

#include <ATen/core/grad_mode.h>

#include <cmath>

#include "core/networks/network.h"
#include "core/train/session.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

TEST(Lookahead, GoesBackToItsSlowWeightsAsThePublishedLoopDoes) {
  const auto weight = at::full({3}, 1.0f).requires_grad_();
  const auto running_mean = at::full({2}, -3.0f);
  const auto count = at::full({}, 7, at::kLong);
  Lookahead lookahead({{"weight", weight}, {"mean", running_mean}, {"count", count}}, /*every=*/5,
                      /*decay=*/0.95);
  ASSERT_EQ(lookahead.state().size(), 2u) << "a counter has no slow value";
  constexpr int64_t kSteps = 23;
  double value = 1, slow = 1, mean = -3, slow_mean = -3;
  for (int64_t done = 1; done <= kSteps; ++done) {
    // A step of the optimizer.
    {
      const at::NoGradGuard no_grad;
      weight.add_(static_cast<double>(done));
    }
    running_mean.mul_(0.5);
    value += static_cast<double>(done);
    mean *= 0.5;
    lookahead.update(done, kSteps);
    if (done % 5 == 0) {
      const double share =
          std::pow(0.95, 5) * std::pow(static_cast<double>(done) / double(kSteps), 3);
      value = slow = share * slow + (1 - share) * value;
      mean = slow_mean = share * slow_mean + (1 - share) * mean;
    }
    if (done == kSteps) value = slow, mean = slow_mean;
    EXPECT_NEAR(weight[1].item<double>(), value, 1e-5 * value) << done;
    EXPECT_NEAR(running_mean[1].item<double>(), mean, 1e-6) << done;
    EXPECT_NEAR(lookahead.state()[0].second[1].item<double>(), slow, 1e-5 * slow) << done;
  }
  EXPECT_EQ(count.item<int64_t>(), 7);
  lookahead.update(40, kSteps);  // a timing goes on
  EXPECT_GT(weight[0].item<double>(), 0);
}

RunConfig looking_ahead(int64_t every) {
  auto config = toy_run("dense", "", 2);  // 28 steps
  config.recipe.lookahead_every = every;
  return config;
}

TEST(Lookahead, EndsATrainingOnItsSlowWeights) {
  const auto dataset = toy_dataset();
  Session session(looking_ahead(5), dataset), plain(looking_ahead(0), dataset);
  const auto differs = [&] {
    const auto a = session.network().parameters(), b = plain.network().parameters();
    return !at::equal(a[0], b[0]);
  };
  for (int64_t done = 1; done <= session.total_steps(); ++done) {
    session.step();
    plain.step();
    EXPECT_EQ(differs(), done >= 5) << done;
    const auto saved = session.save();
    const bool is_slow = done % 5 == 0 || done == session.total_steps();
    const auto name = session.network().named_parameters()[0].key();
    EXPECT_EQ(at::equal(saved.tensor("parameter:" + name), saved.tensor("lookahead:" + name)),
              is_slow)
        << done;
  }
}

TEST(Lookahead, OfMoreStepsThanTheTrainingHasIsRefused) {
  try {
    Session(looking_ahead(29), toy_dataset());
    FAIL() << "was taken";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(
        error.what(),
        "recipe.lookahead_every = 29: the training has 28 steps, so its slow weights would "
        "stay as they began; use fewer");
  }
}

}  // namespace
}  // namespace approx
