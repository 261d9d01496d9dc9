// Batch sources: each held to its definition in plain loops, and what all of them must do.
#include "core/selections/selection.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <set>

#include "base/error.h"
#include "kernels/rng.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr float kUnseen = std::numeric_limits<float>::quiet_NaN();

Rng of_epoch(int64_t epoch) {
  return {.seed = 3, .step = static_cast<uint64_t>(epoch), .stream = kSelectionStream};
}

// An order that is not that of the ids: 5, 8, 11, ...
std::vector<int64_t> mixed_order(int64_t count) {
  std::vector<int64_t> order;
  int64_t step = 3;
  while (std::gcd(step, count) != 1) ++step;
  for (int64_t i = 0; i < count; ++i) order.push_back((5 + i * step) % count);
  return order;
}

EpochCall call_of(int64_t examples, int64_t batch, const std::vector<float>& remembered,
                  int64_t epoch = 1) {
  return {.epoch = epoch,
          .epochs = 8,
          .batch = batch,
          .steps = std::max<int64_t>(1, examples / batch),
          .order = mixed_order(examples),
          .remembered = at::tensor(remembered),
          .rng = of_epoch(epoch)};
}

std::vector<float> some_losses(int64_t count) {
  std::vector<float> losses;
  for (int64_t i = 0; i < count; ++i) {
    losses.push_back(static_cast<float>(std::pow(std::sin(1.0 + 7.0 * static_cast<double>(i)), 4)));
  }
  return losses;
}

// The weights of a plan by id.
std::map<int64_t, double> plan_weights(const EpochPlan& plan) {
  std::map<int64_t, double> weights;
  for (size_t i = 0; i < plan.ids.size(); ++i) {
    EXPECT_TRUE(weights.emplace(plan.ids[i], plan.weights.at(i)).second) << plan.ids[i];
  }
  return weights;
}

TEST(RandomSubset, KeepsTheFirstOnesOfEachStepsCandidates) {
  const auto source = make_selection("random_subset:ratio=0.3");
  const auto call = call_of(50, 10, std::vector<float>(50, kUnseen));
  const auto plan = source->plan(call);
  std::vector<int64_t> wanted;
  for (size_t step = 0; step < 5; ++step) {
    for (size_t i = 0; i < 3; ++i) wanted.push_back(call.order[10 * step + i]);
  }
  EXPECT_EQ(plan.ids, wanted);
  EXPECT_EQ(plan.per_step, 3);
  EXPECT_TRUE(plan.weights.empty());
}

// The definition of infobatch in double precision, but for which of the examples below the mean
// stay.
void expect_infobatch(const std::vector<float>& last, double r) {
  const auto count = static_cast<int64_t>(last.size());
  double sum = 0;
  int64_t seen = 0;
  for (const float value : last) {
    if (std::isnan(value)) continue;
    sum += value;
    ++seen;
  }
  std::set<int64_t> below, others;
  for (int64_t id = 0; id < count; ++id) {
    const double value = last[static_cast<size_t>(id)];
    (!std::isnan(value) && value < sum / static_cast<double>(seen) ? below : others).insert(id);
  }
  const auto staying =
      static_cast<int64_t>(std::floor((1 - r) * static_cast<double>(below.size()) + 1e-9));
  const auto kept = static_cast<double>(staying) + static_cast<double>(others.size());
  const auto source = make_selection(fmt::format("infobatch:r={}", r));
  const auto plan = source->plan(call_of(count, 4, last));
  const auto weights = plan_weights(plan);
  for (const int64_t id : others) {
    ASSERT_TRUE(weights.contains(id)) << id << " is not below the mean";
    EXPECT_NEAR(weights.at(id), kept / static_cast<double>(count), 1e-6);
  }
  int64_t found = 0;
  for (const int64_t id : below) {
    if (!weights.contains(id)) continue;
    ++found;
    EXPECT_NEAR(weights.at(id), kept / static_cast<double>(count) / (1 - r), 1e-6);
  }
  EXPECT_EQ(found, staying);
  EXPECT_EQ(weights.size(), static_cast<size_t>(kept));
  // The order of training is that of the epoch.
  const auto order = mixed_order(count);
  const auto position = [&](int64_t id) { return std::ranges::find(order, id) - order.begin(); };
  EXPECT_TRUE(std::ranges::is_sorted(plan.ids, {}, position));
}

TEST(InfoBatch, IsItsDefinition) {
  for (const int64_t count : {1, 7, 16, 33, 200}) {
    for (const double r : {0.0, 0.25, 0.5, 0.9}) {
      SCOPED_TRACE(fmt::format("{} examples, r = {}", count, r));
      expect_infobatch(some_losses(count), r);
      auto unseen = some_losses(count);
      for (size_t i = 0; i < unseen.size(); i += 3) unseen[i] = kUnseen;
      if (count > 1) expect_infobatch(unseen, r);
    }
  }
}

// The weights of examples below the mean add up as if all of them had been kept, in each epoch; and
// each of them is kept in half of the epochs.
TEST(InfoBatch, KeepsTheGradientUnbiased) {
  const auto last = some_losses(60);
  const auto source = make_selection("infobatch:r=0.5,delta=1");
  std::vector<double> total(last.size());
  constexpr int64_t kEpochs = 2000;
  for (int64_t epoch = 0; epoch < kEpochs; ++epoch) {
    auto call = call_of(60, 4, last, epoch);
    call.epochs = 2 * kEpochs;
    const auto plan = source->plan(call);
    // A step's loss is a mean over the kept ones: the sum over an epoch has their number below it.
    for (const auto& [id, weight] : plan_weights(plan)) {
      total[static_cast<size_t>(id)] += weight * 60 / static_cast<double>(plan.ids.size());
    }
  }
  for (const double sum : total) {
    EXPECT_NEAR(sum / kEpochs, 1, 0.12) << "five standard deviations";
  }
}

TEST(InfoBatch, TrainsOnEverythingInTheEnd) {
  const auto last = some_losses(40);
  const auto source = make_selection("infobatch:delta=0.5");
  EXPECT_LT(source->plan(call_of(40, 4, last, 3)).ids.size(), 40);
  const auto whole = source->plan(call_of(40, 4, last, 4));  // of 8 epochs
  EXPECT_EQ(whole.ids, mixed_order(40));
  EXPECT_TRUE(whole.weights.empty());
  // The last epoch always does, whatever the length: it is the one in which the last part begins.
  for (const double epochs : {5.0, 4.95, 2.0}) {
    for (const std::string name : {"infobatch", "batch_threshold"}) {
      SCOPED_TRACE(fmt::format("{}, {} epochs", name, epochs));
      const auto by_default = make_selection(name);
      auto call = call_of(40, 4, name == "infobatch" ? last : std::vector(40, -1.0F),
                          static_cast<int64_t>(std::ceil(epochs)) - 1);
      call.epochs = epochs;
      EXPECT_EQ(by_default->plan(call).ids, mixed_order(40));
      --call.epoch;
      EXPECT_LT(by_default->plan(call).ids.size(), 40);
    }
  }
}

TEST(InfoBatch, KeepsWhatNoStepHasTrainedOn) {
  const auto plan = make_selection("infobatch")->plan(call_of(20, 4, std::vector(20, kUnseen)));
  EXPECT_EQ(plan.ids, mixed_order(20));
  for (const float weight : plan.weights) EXPECT_EQ(weight, 1);
}

TEST(BatchThreshold, PrunesWhatWasBelowTheMeanOfItsBatch) {
  auto margins = some_losses(30);
  for (auto& margin : margins) margin -= 0.4F;
  margins[7] = kUnseen;
  margins[8] = 0;
  int64_t below = 0;
  for (const float margin : margins) below += margin < 0;
  const auto weights =
      plan_weights(make_selection("batch_threshold:r=0.25")->plan(call_of(30, 5, margins)));
  int64_t found = 0;
  const double share = static_cast<double>(weights.size()) / 30;
  for (int64_t id = 0; id < 30; ++id) {
    const bool well = margins[static_cast<size_t>(id)] < 0;
    if (!well) {
      ASSERT_TRUE(weights.contains(id)) << id;
    }
    if (!weights.contains(id)) continue;
    found += well;
    EXPECT_NEAR(weights.at(id), well ? share / 0.75 : share, 1e-6) << id;
  }
  EXPECT_EQ(found, 3 * below / 4);
}

// The chance of each example to be drawn first is its rank's chance: over 20,000 draws, give or
// take four standard deviations.
TEST(SelectiveBackprop, DrawsByTheRankOfTheLosses) {
  const std::vector<float> losses = {0.7F, 0.1F, 3.F, 0.2F, 1.5F, 0.2F};
  const std::vector<int64_t> rank = {3, 0, 5, 1, 4, 2};  // of equal losses the first is lower
  const double ratio = 0.25;
  double sum = 0;
  std::vector<double> chance;
  for (const int64_t each : rank) {
    chance.push_back(std::pow((static_cast<double>(each) + 0.5) / 6, 1 / ratio - 1));
    sum += chance.back();
  }
  const auto source = make_selection("selective_backprop:ratio=0.25");
  std::vector<double> first(6), second(6);
  constexpr int kDraws = 20000;
  for (int draw = 0; draw < kDraws; ++draw) {
    std::vector<float> uniform;
    const Rng rng{.seed = 11, .step = static_cast<uint64_t>(draw), .stream = kSelectionStream};
    for (uint32_t i = 0; i < 6; ++i) uniform.push_back(Rng::uniform(rng.block(i / 4)[i % 4]));
    const auto chosen =
        source->choose({.losses = at::tensor(losses), .uniform = at::tensor(uniform), .kept = 2});
    ++first[static_cast<size_t>(chosen[0].item<int64_t>())];
    ++second[static_cast<size_t>(chosen[1].item<int64_t>())];
  }
  for (size_t i = 0; i < 6; ++i) {
    const double p = chance[i] / sum;
    EXPECT_NEAR(first[i] / kDraws, p, 4 * std::sqrt(p * (1 - p) / kDraws) + 1e-4) << i;
    double q = 0;  // drawn second, after each other one
    for (size_t j = 0; j < 6; ++j) {
      if (j != i) q += chance[j] / sum * chance[i] / (sum - chance[j]);
    }
    EXPECT_NEAR(second[i] / kDraws, q, 4 * std::sqrt(q * (1 - q) / kDraws) + 1e-4) << i;
  }
}

TEST(ProxySelection, KeepsTheHighestLosses) {
  const std::vector<float> losses = {0.7F, 0.1F, 3.F, 0.7F, 1.5F, 0.2F, 0.7F, 0.F};
  const auto source = make_selection("proxy_selection:ratio=0.5,proxy=small_cnn(width=2),every=3");
  EXPECT_EQ(source->proxy().network, "small_cnn:width=2");
  EXPECT_EQ(source->proxy().train_every, 3);
  const auto chosen = source->choose({.losses = at::tensor(losses), .uniform = {}, .kept = 4});
  EXPECT_TRUE(at::equal(chosen, at::tensor({2, 4, 0, 3}, at::kLong))) << chosen;
}

TEST(Selection, StepsHaveEqualSizesOfFewKinds) {
  EXPECT_EQ(kept_per_step(1280, 10, 128), 128);
  EXPECT_EQ(kept_per_step(1500, 10, 128), 128) << "at most the batch";
  EXPECT_EQ(kept_per_step(1279, 10, 128), 120);
  EXPECT_EQ(kept_per_step(640, 10, 128), 64);
  EXPECT_EQ(kept_per_step(79, 10, 128), 7) << "less than a sixteenth";
  EXPECT_EQ(kept_per_step(130, 10, 13), 13);
  EXPECT_EQ(kept_per_step(9, 10, 13), 0);
  std::set<int64_t> sizes;
  for (int64_t kept = 80; kept <= 1280; ++kept) sizes.insert(kept_per_step(kept, 10, 128));
  EXPECT_EQ(sizes.size(), 16);
}

// What every source must do, whatever it chooses by.
class EverySource : public ::testing::TestWithParam<const SelectionEntry*> {};

TEST_P(EverySource, PlansEachExampleOnceAndAlikeEachTime) {
  for (const int64_t examples : {1, 2, 31, 64, 333}) {
    for (const int64_t epoch : {0, 1, 7}) {
      SCOPED_TRACE(fmt::format("{} examples, epoch {}", examples, epoch));
      const int64_t batch = std::min<int64_t>(16, examples);
      auto losses = some_losses(examples);
      if (epoch == 0) losses.assign(losses.size(), kUnseen);
      const auto call = call_of(examples, batch, losses, epoch);
      const auto source = make_selection(GetParam()->name);
      const auto plan = source->plan(call), again = make_selection(GetParam()->name)->plan(call);
      EXPECT_EQ(plan.ids, again.ids);
      EXPECT_EQ(plan.weights, again.weights);
      EXPECT_NO_THROW(check_plan(plan, GetParam()->name, epoch, examples));
      EXPECT_TRUE(plan.weights.empty() || source->weighs());
      const SourceSizes sizes{.examples = examples, .batch = batch, .steps = call.steps};
      const auto kept = static_cast<int64_t>(plan.ids.size());
      const int64_t per_step =
          plan.per_step > 0 ? plan.per_step : kept_per_step(kept, call.steps, batch);
      if (source->scored_by() == ScoredBy::kNobody && source->least_kept(sizes) > 0) {
        EXPECT_GE(per_step, source->least_kept(sizes));
        EXPECT_LE(per_step * call.steps, kept);
      }
    }
  }
}

TEST_P(EverySource, ChoosesEachCandidateOnce) {
  const auto source = make_selection(GetParam()->name);
  if (source->scored_by() == ScoredBy::kNobody) {
    EXPECT_THROW(source->choose({}), Error);
    return;
  }
  for (const int64_t batch : {2, 3, 16, 33}) {
    const int64_t kept = source->least_kept({.examples = 100, .batch = batch, .steps = 2});
    const auto uniform = (at::arange(batch, at::kFloat) * 0.618F + 0.1F).frac();
    for (const auto& losses : {at::tensor(some_losses(batch)), at::ones({batch}),
                               at::full({batch}, kUnseen), at::zeros({batch})}) {
      const BatchCall call{.losses = losses, .uniform = uniform, .kept = kept};
      const auto chosen = source->choose(call);
      ASSERT_EQ(chosen.scalar_type(), at::kLong);
      ASSERT_EQ(chosen.numel(), kept);
      std::set<int64_t> once;
      for (int64_t i = 0; i < kept; ++i) once.insert(chosen[i].item<int64_t>());
      EXPECT_EQ(static_cast<int64_t>(once.size()), kept);
      EXPECT_GE(*once.begin(), 0);
      EXPECT_LT(*once.rbegin(), batch);
      EXPECT_TRUE(at::equal(chosen, source->choose(call)));
    }
  }
}

TEST_P(EverySource, IsDescribed) {
  EXPECT_FALSE(GetParam()->summary.empty());
  for (const auto& param : GetParam()->params) EXPECT_FALSE(param.help.empty()) << param.name;
}

INSTANTIATE_TEST_SUITE_P(Selections, EverySource,
                         ::testing::ValuesIn(Registry<SelectionEntry>::instance().all()),
                         [](const auto& info) { return info.param->name; });

std::string complaint_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(Selection, SaysWhatIsWrong) {
  EXPECT_EQ(
      complaint_of([] {
        const auto source = make_selection("random_subset:ratio=0.01");
        check_leaves_batches(*source, "random_subset:ratio=0.01",
                             {.examples = 100, .batch = 16, .steps = 6});
      }),
      "selection = random_subset:ratio=0.01 may keep none of the 16 candidates of a step; let "
      "it keep more, or use a larger batch_size");
  EXPECT_EQ(
      complaint_of([] {
        const auto source = make_selection("infobatch:r=0.99");
        check_leaves_batches(*source, "infobatch:r=0.99",
                             {.examples = 100, .batch = 16, .steps = 6});
      }),
      "selection = infobatch:r=0.99 may keep none of the 16 candidates of a step; let it keep "
      "more, or use a larger batch_size");
  const auto plan = [](std::vector<int64_t> ids, std::vector<float> weights = {}) {
    return [ids = std::move(ids), weights = std::move(weights)] {
      check_plan({.ids = ids, .weights = weights}, "mine", 4, 10);
    };
  };
  EXPECT_EQ(complaint_of(plan({1, 9, 3, 9})),
            "selection = mine: epoch 4 has example 9 twice; let plan() keep each once");
  EXPECT_EQ(complaint_of(plan({1, 10})),
            "selection = mine: epoch 4 has example 10, and there are 10");
  EXPECT_EQ(complaint_of(plan({-1})), "selection = mine: epoch 4 has example -1, and there are 10");
  EXPECT_EQ(complaint_of(plan({1, 2}, {1})),
            "selection = mine: epoch 4 has 2 examples and 1 weights");
  EXPECT_EQ(complaint_of(plan({0, 9}, {1, 2})), "");
  EXPECT_NE(complaint_of([] { make_selection("infobach"); }).find("infobatch"), std::string::npos);
  EXPECT_NE(complaint_of([] { make_selection("random_subset:ratio=1.5"); }).find("ratio=1.5"),
            std::string::npos);
  EXPECT_NE(complaint_of([] {
              make_selection("proxy_selection:proxy=small_cnn(width=8");
            }).find("expected NETWORK"),
            std::string::npos);
}

}  // namespace
}  // namespace approx
