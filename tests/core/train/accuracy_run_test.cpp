// What an accuracy run reports, what it counts as training time, and which checkpoints it goes on
// from.
#include "core/train/accuracy_run.h"

#include <chrono>
#include <thread>

#include "core/train/step_graphs.h"
#include "tests/core/train/toy_events.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

TEST(WarmupSteps, AreAPeriodAndWhereStepsAreCapturedAsManyAsThatTakes) {
  EXPECT_EQ(warmup_steps(1, 100, /*captures=*/false), 4);
  EXPECT_EQ(warmup_steps(8, 100, /*captures=*/false), 8);
  EXPECT_EQ(warmup_steps(1, 100, /*captures=*/true), 4);
  EXPECT_EQ(warmup_steps(2, 100, /*captures=*/true), 6);
  EXPECT_EQ(warmup_steps(8, 100, /*captures=*/true), 24);
  EXPECT_EQ(warmup_steps(9, 100, /*captures=*/true), 25) << "no more than a quarter";
  EXPECT_EQ(warmup_steps(9, 3, /*captures=*/true), 0);
  EXPECT_EQ(warmup_steps(1, 14, /*captures=*/false), 3);
}

// Every row of a schedule of so many steps is captured by then: what comes after are replays.
TEST(WarmupSteps, HaveAllCapturesInThem) {
  class Recorder final : public StepRecorder {
    struct Recorded final : RecordedStep {
      void replay() override {}
    };
    std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
      step();
      return std::make_unique<Recorded>();
    }
  };
  for (const int64_t period : {1, 2, 5}) {
    StepGraphs graphs(std::make_unique<Recorder>(), at::kCPU, {});
    const int64_t warmup = warmup_steps(period, 1000, /*captures=*/true);
    const auto run = [&](int64_t from, int64_t to) {
      for (int64_t step = from; step < to; ++step) {
        graphs.run({{static_cast<int>(step % period)}, {}}, "", [] {});
      }
    };
    run(0, warmup);
    EXPECT_EQ(graphs.report().graphs, period);
    const int64_t before = graphs.report().steps.at("before capture");
    run(warmup, warmup + 3 * period);
    EXPECT_EQ(graphs.report().graphs, period);
    EXPECT_EQ(graphs.report().steps.at("before capture"), before);
  }
}

// One rank with a device of its own, whose wishes take their time to come back: the other ranks'
// hosts are slow. All else is there at once.
class SlowWishes final : public Collectives {
 public:
  static constexpr std::chrono::milliseconds kEach{20};

  SlowWishes() : Collectives({.rank = 0, .size = 1}) {}
  bool is_of_device() const override { return true; }
  void close() override {}
  Json description() const override { return {{"library", "none"}}; }

 private:
  struct Sent final : Pending {
    explicit Sent(bool waits) : is_slow(waits) {}
    void wait() override {
      if (is_slow) std::this_thread::sleep_for(kEach);
    }
    bool is_slow;
  };
  std::unique_ptr<Pending> do_start_sums(std::vector<Sum> sums) override {
    const auto& values = sums.front().values;  // of wishes two whole numbers
    return std::make_unique<Sent>(values.scalar_type() == at::kLong && values.numel() == 2);
  }
  std::unique_ptr<Pending> do_start_gather(const at::Tensor& own, const at::Tensor& all) override {
    all[0].copy_(own);
    return std::make_unique<Sent>(false);
  }
  void do_broadcast(const at::Tensor&) override {}
};

TEST(AccuracyRun, WhatItWaitsForOtherHostsIsTrainingTime) {
  const auto data = toy_dataset();
  const std::atomic<bool> stop = false;
  Json last;
  run_accuracy(
      toy_run("dense", "", 1), data, {}, [&](const Json& event) { last = event; }, stop, {},
      std::make_shared<SlowWishes>());
  ASSERT_EQ(last["state"], "finished");
  const int64_t steps = last["steps"], warmup = last["warmup_steps"];
  ASSERT_EQ(steps, 14);
  ASSERT_EQ(warmup, 3);
  // Each step but the first waits for what was said before the one that preceded it, and the wait
  // is its own: that before the first timed step counts.
  const int64_t each = std::chrono::nanoseconds(SlowWishes::kEach).count();
  int64_t beside_steps = last["train_ns"];
  for (const int64_t step_ns : last["step_ns"]) beside_steps -= step_ns;
  EXPECT_GE(beside_steps, (steps - warmup) * each);
  EXPECT_GE(last["warmup_ns"].get<int64_t>(), (warmup - 1) * each);
  EXPECT_GE(last["wall_ns"].get<int64_t>(), last["train_ns"].get<int64_t>() +
                                                last["eval_ns"].get<int64_t>() +
                                                last["warmup_ns"].get<int64_t>());
}

std::string refusal_of(const Checkpoint& checkpoint, const RunConfig& config) {
  try {
    require_own(checkpoint, config);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData);
    return error.what();
  }
  return "";
}

TEST(AccuracyRun, GoesOnFromItsOwnCheckpointsAndOnAGpuFromThoseWithItsClock) {
  auto config = toy_run("dense", "", 1);
  const auto other = toy_run("dense", "", 2);
  for (const auto device : {DeviceKind::kCpu, DeviceKind::kCuda}) {
    config.device = device;
    Checkpoint checkpoint;
    EXPECT_EQ(refusal_of(checkpoint, config), "the checkpoint is of another run");
    checkpoint.state["config"] = config;
    const bool is_old = device == DeviceKind::kCuda;
    const std::string short_seconds = "the seconds of the checkpoint leave out what the device did";
    EXPECT_EQ(refusal_of(checkpoint, config), is_old ? short_seconds : "");
    checkpoint.state["device_time"] = "queued";
    EXPECT_EQ(refusal_of(checkpoint, config), is_old ? short_seconds : "");
    checkpoint.state["device_time"] = "whole";
    EXPECT_EQ(refusal_of(checkpoint, config), "");
    EXPECT_EQ(refusal_of(checkpoint, other), "the checkpoint is of another run");
  }
}

// The metrics without the clock readings: what must be equal from run to run.
std::vector<Json> metrics_of(const RunConfig& config) {
  auto metrics = of_kind(events_of(config), "metric");
  for (auto& event : metrics) event.erase("train_ns");
  return metrics;
}

double final_accuracy(const RunConfig& config) {
  double accuracy = -1;
  for (const auto& event : metrics_of(config)) {
    if (event["name"] == "accuracy" && event["split"] == "test") accuracy = event["value"];
  }
  return accuracy;
}

TEST(AccuracyRun, LearnsTheToyAndReportsEveryPartOfIt) {
  const auto events = events_of(toy_config());
  ASSERT_EQ(events.front().at("event"), "start");
  const auto& end = events.back();
  ASSERT_EQ(end.at("event"), "final");
  EXPECT_EQ(end["state"], "finished");
  // 256 images less a tenth held out, in batches of 16: 14 steps an epoch.
  EXPECT_EQ(events.front()["steps_per_epoch"], 14);
  EXPECT_EQ(end["steps"], 28);
  EXPECT_EQ(end["step_ns"].size() + end["warmup_steps"].get<size_t>(), 28u);
  EXPECT_GT(end["train_ns"].get<int64_t>(), 0);
  EXPECT_GE(end["wall_ns"].get<int64_t>(), end["train_ns"].get<int64_t>() +
                                               end["eval_ns"].get<int64_t>() +
                                               end["warmup_ns"].get<int64_t>());
  EXPECT_EQ(final_accuracy(toy_config()), 1.0);
  std::map<std::string, int> count;
  for (const auto& event : of_kind(events, "metric")) {
    ++count[event["name"].get<std::string>() + "/" + event["split"].get<std::string>()];
  }
  EXPECT_EQ(count["accuracy/test"], 2);
  EXPECT_EQ(count["accuracy/holdout"], 2);
  EXPECT_EQ(count["loss/train"], 2);
}

TEST(AccuracyRun, ItsPartsMakeUpItsTime) {
  const Json last = events_of(toy_config()).back();
  expect_parts_make_up(last);
  EXPECT_GT(last["start_ns"], 0);
  EXPECT_GT(last["aside_ns"], 0);
}

TEST(AccuracyRun, IsTheSameEveryTime) {
  const auto config = toy_config("random", "slice:layers=1::1,steps=::2");
  EXPECT_EQ(metrics_of(config), metrics_of(config));
  auto other = config;
  other.seed = 1;
  EXPECT_NE(metrics_of(config), metrics_of(other));
}

TEST(AccuracyRun, AScheduleThatNeverComesIsDenseBitForBit) {
  auto waiting = toy_config("zero");
  waiting.schedule = {{.from = "plateau:patience=1000"}};
  EXPECT_EQ(metrics_of(toy_config()), metrics_of(waiting));
}

TEST(AccuracyRun, AScheduleThatCannotComeIsRefused) {
  EXPECT_THROW(events_of(toy_config("zero", "slice:steps=1000::1")), Error);
  EXPECT_THROW(events_of(toy_config("topk_crs:min_channels=1000", "slice:layers=2::1")), Error);
}

TEST(AccuracyRun, EveryMethodTrainsTheToy) {
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    // Of the four channels of these layers a sample is hardly more than noise, and batch norm's
    // running averages are of that noise: sampling is left to the gradients.
    if (entry->stops_blocks) continue;  // the network has no blocks
    const bool sampling = !entry->products_of_mode.empty() && entry->name != "topk_weights";
    const std::string text = entry->name + (sampling ? ":mode=backward" : "");
    EXPECT_GE(final_accuracy(toy_config(text, "slice:steps=::2")), 0.9) << text;
  }
}

TEST(AccuracyRun, MethodsOfDifferentProductsWorkOnOneLayer) {
  auto config = toy_config("mixed");
  Rule data, weight;
  data.layers = weight.layers = "2";
  data.method = "sdgp:n=1,m=2";
  weight.method = "topk_position";
  config.schedule = {data, weight};
  std::map<std::string, std::string> methods;
  for (const auto& event : of_kind(events_of(config), "layer")) {
    if (event["layer"] == "conv2") methods[event["product"]] = event["method"];
  }
  EXPECT_EQ(methods["forward"], "dense");
  EXPECT_EQ(methods["data_gradient"].substr(0, 4), "sdgp");
  EXPECT_EQ(methods["weight_gradient"].substr(0, 13), "topk_position");
}

// Of every product of every layer each call, whatever computed it; in both kinds of runs.
TEST(AccuracyRun, TheVariantsOfAllCallsAreReported) {
  auto config = toy_config("topk_position", "slice:steps=::2");
  for (const auto purpose : {Purpose::kAccuracy, Purpose::kTiming}) {
    config.purpose = purpose;
    config.blocks = 2, config.block_steps = 2;
    std::map<std::pair<std::string, std::string>, int64_t> calls, computed;
    std::set<std::string> plans;
    const auto events = events_of(config);
    for (const auto& event : of_kind(events, "layer")) {
      calls[{event["layer"], event["product"]}] += event["calls"].get<int64_t>();
    }
    for (const auto& event : of_kind(events, "variant")) {
      computed[{event["layer"], event["product"]}] += event["calls"].get<int64_t>();
      plans.insert(event["plan"]);
    }
    EXPECT_EQ(computed, calls);
    EXPECT_FALSE(computed.empty());
    EXPECT_EQ(plans, (std::set<std::string>{"Dense", "SparseDY"}));
  }
}

TEST(AccuracyRun, DensitiesAreReportedByEpochAndLayer) {
  std::map<std::string, int> seen;
  for (const auto& event : metrics_of(toy_config("sdgp:n=1,m=2", "slice:layers=2"))) {
    if (event["name"] != "density") continue;
    ++seen[event["split"]];
    // Half of the channels stay, but for zeros of the gradient itself (behind a ReLU).
    EXPECT_GT(event["value"].get<double>(), 0.05);
    EXPECT_LE(event["value"].get<double>(), 0.5);
  }
  EXPECT_EQ(seen, (std::map<std::string, int>{{"conv2:data_gradient", 2}}));
}

// Of all entries of all gradients, each epoch once.
std::vector<double> gradient_densities(const RunConfig& config) {
  std::vector<double> values;
  for (const auto& event : metrics_of(config)) {
    if (event["name"] == "gradient_density") values.push_back(event["value"]);
  }
  return values;
}

TEST(AccuracyRun, GradientDensitiesCountEveryEntryOnceAnEpoch) {
  // Batch normalisation stands behind these convolutions and leaves no entry zero.
  const auto dense = gradient_densities(toy_config("dense"));
  EXPECT_EQ(dense, (std::vector<double>{1, 1}));
  const auto pruned = gradient_densities(toy_config("stochastic_pruning:p=0.99", "slice"));
  ASSERT_EQ(pruned.size(), 2u);
  for (const double density : pruned) {
    EXPECT_GT(density, 0.5);  // the first convolution, with most of the entries, stays exact
    EXPECT_LT(density, 0.8);
  }
  // Steps of both kinds are among those that count.
  auto both = gradient_densities(toy_config("stochastic_pruning:p=0.99", "slice:steps=::2"));
  ASSERT_EQ(both.size(), 2u);
  std::ranges::sort(both);
  EXPECT_LT(both[0], 0.8);
  EXPECT_EQ(both[1], 1);
  // Whichever way half of a gradient is chosen.
  for (const auto* method : {"meprop:ratio=0.5,per=batch", "meprop:ratio=0.5,per=example"}) {
    const auto half = gradient_densities(toy_config(method, "slice:layers=2"));
    ASSERT_EQ(half.size(), 2u);
    EXPECT_LT(half[0], 0.9) << method;
    std::vector<double> kept;
    for (const auto& event : metrics_of(toy_config(method, "slice:layers=2"))) {
      if (event["name"] == "density") kept.push_back(event["value"]);
    }
    EXPECT_EQ(kept, (std::vector<double>(4, 0.5))) << method;
  }
}

TEST(AccuracyRun, APlateauOfTheHeldOutAccuracyEndsARule) {
  auto config = toy_config("zero");
  Rule rule;
  rule.layers = "2";
  rule.until =
      "plateau:patience=1,delta=1";  // no accuracy gains more than 1: the second evaluation
  config.schedule = {rule};
  config.recipe.epochs = 4;
  const auto events = events_of(config);
  int64_t reached = 0, exact = 0, approximated = 0, steps = 0;
  for (const auto& event : events) {
    if (event["event"] == "metric" && event["name"] == "plateau") reached = event["step"];
    if (event["event"] == "final") steps = event["steps"];
    if (event["event"] != "layer" || event["layer"] != "conv2") continue;
    if (event["product"] != "weight_gradient") continue;
    (event["method"] == "dense" ? exact : approximated) = event["calls"];
  }
  EXPECT_EQ(reached, steps / 4 * 2);
  EXPECT_EQ(approximated, reached);
  EXPECT_EQ(exact, steps - reached);

  config.split = SplitKind::kPaper;
  EXPECT_THROW(events_of(config), Error) << "nothing is held out";
}

// The evaluations that judge, and where by their definition a patience ends the training.
struct Evaluations {
  std::vector<std::pair<int64_t, double>> of_steps;

  Evaluations(const std::vector<Json>& events, const char* split) {
    for (const auto& event : of_kind(events, "metric")) {
      if (event["name"] != "accuracy" || event["split"] != split) continue;
      of_steps.emplace_back(event["step"], event["value"]);
    }
  }

  int64_t end(int64_t patience_steps) const {
    double best = -1;
    int64_t since = 0;
    for (const auto& [step, accuracy] : of_steps) {
      if (accuracy > best) best = accuracy, since = step;
      if (step - since >= patience_steps) return step;
    }
    return of_steps.back().first;
  }
};

TEST(AccuracyRun, EndsWhenItsPatienceIsOver) {
  auto config = toy_config();
  config.recipe.epochs = 8;
  config.recipe.learning_rate = 1e-9;  // gains nothing for long
  for (const auto split : {SplitKind::kHoldout, SplitKind::kPaper}) {
    config.split = split;
    config.patience = 0;
    const auto whole = events_of(config);
    EXPECT_FALSE(whole.back().contains("ended_by"));
    const int64_t epoch = whole.back()["steps"].get<int64_t>() / 8;
    const Evaluations seen(whole, split == SplitKind::kHoldout ? "holdout" : "test");
    for (const int64_t patience : {1, 2, 3, 7}) {
      config.patience = patience;
      const auto events = events_of(config);
      const int64_t end = seen.end(patience * epoch);
      ASSERT_LT(patience == 7 ? 0 : end, 8 * epoch) << "nothing is tested";
      EXPECT_EQ(events.back()["steps"], end) << patience;
      EXPECT_EQ(events.back()["state"], "finished");
      EXPECT_EQ(events.back().value("ended_by", ""), end < 8 * epoch ? "patience" : "");
      const Evaluations until(events, split == SplitKind::kHoldout ? "holdout" : "test");
      ASSERT_FALSE(until.of_steps.empty());
      EXPECT_TRUE(std::equal(until.of_steps.begin(), until.of_steps.end(), seen.of_steps.begin()))
          << "to its end it is the training without a patience";
    }
  }
  config.stop_at = 1e-6;
  EXPECT_EQ(events_of(config).back()["ended_by"], "target") << "which comes first";
}

TEST(AccuracyRun, CountsWhatTheLayersDid) {
  const auto events = events_of(toy_config("zero", "slice:layers=2,steps=::2"));
  bool found = false;
  for (const auto& event : of_kind(events, "layer")) {
    if (event["layer"] != "conv2" || event["product"] != "weight_gradient") continue;
    if (event["method"] == "dense") {
      EXPECT_EQ(event["calls"], 14);
      EXPECT_EQ(event["macs_done"], event["macs_dense"]);
    } else {
      found = true;
      EXPECT_EQ(event["calls"], 14);
      EXPECT_EQ(event["macs_done"], 0);
    }
  }
  EXPECT_TRUE(found);
}

// Of a set with fewer images than a batch was to have.
TEST(AccuracyRun, CountsTheImagesThatStepsHad) {
  auto config = toy_config("topk_crs:ratio=1,mode=backward", "slice:layers=2::2");
  config.batch_size = 10'000;
  std::set<std::string> methods;
  for (const auto& event : of_kind(events_of(config), "layer")) {
    methods.insert(event["method"]);
    EXPECT_EQ(event["macs_done"], event["macs_dense"]) << event.dump();
    EXPECT_GT(event["macs_dense"], 0) << event.dump();
  }
  EXPECT_EQ(methods.size(), 2u);
}

// The multiply-accumulates of a dense step: three products of each layer, but no data gradient of
// the one that reads the images.
TEST(AccuracyRun, CountsNoGradientOfTheImages) {
  for (const auto* method : {"dense", "zero"}) {
    const auto events = events_of(toy_config(method, "slice:layers=2"));
    std::map<std::string, double> layers;
    double all = 0;
    for (const auto& event : of_kind(events, "layer")) {
      const double macs = event["macs_dense"].get<double>() / event["calls"].get<double>();
      all += macs;
      if (event["product"] == "forward") layers[event["layer"]] += macs;
      EXPECT_FALSE(event["layer"] == "conv1" && event["product"] == "data_gradient");
    }
    double expected = -layers.at("conv1");
    for (const auto& [layer, macs] : layers) expected += 3 * macs;
    EXPECT_EQ(all, expected) << method;
  }
}

TEST(AccuracyRun, ANetworkThatBlowsUpIsDivergedAtOnce) {
  auto config = toy_config();
  config.recipe.learning_rate = 1e30;
  config.recipe.epochs = 50;
  const auto end = events_of(config).back();
  EXPECT_EQ(end["state"], "diverged");
  EXPECT_LE(end["steps"].get<int64_t>(), 100);
  EXPECT_FALSE(end["diverged_layer"].get<std::string>().empty());
}

TEST(AccuracyRun, StopsAfterTheCurrentStep) {
  const auto dataset = toy_dataset();
  std::atomic<bool> stop = false;
  std::vector<Json> events;
  auto config = toy_config();
  config.recipe.epochs = 1000;
  run_accuracy(
      config, dataset, {},
      [&](const Json& event) {
        events.push_back(event);
        if (event["event"] == "metric") stop = true;
      },
      stop);
  EXPECT_EQ(events.back()["state"], "interrupted");
  EXPECT_LT(events.back()["steps"].get<int64_t>(), 100);
}

TEST(AccuracyRun, TheSplitOfThePaperHoldsNothingOut) {
  auto config = toy_config();
  config.split = SplitKind::kPaper;
  const auto events = events_of(config);
  EXPECT_EQ(events.front()["steps_per_epoch"], 16);
  for (const auto& event : of_kind(events, "metric")) EXPECT_NE(event["split"], "holdout");
}

TEST(AccuracyRun, Bf16Trains) {
  auto config = toy_config("topk_position", "slice:layers=1::1,steps=::2");
  config.precision = Precision::kBf16;
  EXPECT_GE(final_accuracy(config), 0.9);
}

TEST(AccuracyRun, EveryUpdateRuleTrains) {
  const std::vector<std::pair<std::string, Json>> rules = {
      {"adam", {{"optimizer", "adam"}, {"learning_rate", 0.01}}},
      {"nesterov", {{"nesterov", true}}},
      {"no decay of norms", {{"weight_decay", 1e-3}, {"decay_norm", false}}},
      {"clipped", {{"clip_norm", 1.0}}},
      {"averaged", {{"ema", 0.9}}},
      {"mirrored", {{"test_flip", true}}}};
  for (const auto& [what, recipe] : rules) {
    auto config = toy_config("zero:freeze=true", "slice:layers=2,steps=::2");
    from_json(recipe, config.recipe);
    EXPECT_GE(final_accuracy(config), 0.9) << what;
  }
}

}  // namespace
}  // namespace approx
