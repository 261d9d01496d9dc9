// A training whose numbers stop being finite, at any of its first steps and under any method, is
// seen and says where. Images are bytes, so what is not finite comes from an update: at a step the
// learning rate jumps to 1e30.
#include "core/methods/method.h"
#include "tests/core/train/toy_events.h"

namespace approx {
namespace {

constexpr int64_t kEpochs = 2, kBatches = 14;  // steps of an epoch: those held out are left out

RunConfig blows_up_at(const MethodEntry& entry, int64_t step) {
  // The first layer stays exact: a method without gradients would leave nothing to blow up.
  auto config =
      toy_run(entry.name, entry.stops_blocks ? "random_steps:p=0.5" : "slice:layers=2::1", kEpochs);
  if (entry.stops_blocks) config.network = "resnet14";
  const auto share = [](double of) { return of / static_cast<double>(kEpochs * kBatches); };
  config.recipe.lr_schedule = RateSchedule::kPoints;
  const auto at = static_cast<double>(step);
  constexpr double kFar = 1e30;
  if (step == 0) {
    config.recipe.rate_points = {{0, kFar}, {1, kFar}};
  } else {
    config.recipe.rate_points = {{0, 1}, {share(at - 0.5), 1}, {share(at), kFar}, {1, kFar}};
  }
  return config;
}

class Divergence : public ::testing::TestWithParam<const MethodEntry*> {};

TEST_P(Divergence, IsSeenAtEveryStep) {
  for (int64_t step = 0; step < 20; ++step) {
    SCOPED_TRACE(step);
    const auto events = events_of(blows_up_at(*GetParam(), step));
    ASSERT_EQ(events.front()["steps_per_epoch"], kBatches);
    const auto& end = events.back();
    ASSERT_EQ(end["state"], "diverged") << end;
    EXPECT_GE(end["diverged_step"].get<int64_t>(), step);
    EXPECT_LE(end["diverged_step"].get<int64_t>(), step + 100);
    EXPECT_FALSE(end["diverged_layer"].get<std::string>().empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Every, Divergence,
                         ::testing::ValuesIn(Registry<MethodEntry>::instance().all()),
                         [](const auto& info) { return info.param->name; });

}  // namespace
}  // namespace approx
