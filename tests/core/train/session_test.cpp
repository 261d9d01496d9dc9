#include "core/train/session.h"

#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <iterator>
#include <map>
#include <mutex>
#include <set>

#include "core/config/named_schedule.h"
#include "core/networks/network.h"
#include "core/train/accuracy_run.h"
#include "core/train/block_order.h"
#include "core/train/optimizer.h"
#include "core/train/scheduled_layers.h"
#include "core/train/timing_run.h"
#include "tests/core/parallel/as_on_device.h"
#include "tests/core/parallel/thread_collectives.h"
#include "tests/core/train/operators.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

RunConfig toy_config(const std::string& method = "dense", const std::string& schedule = "") {
  return toy_run(method, schedule, 2);
}

// The events of a run that is stopped, if at all, after the `stop_after`-th of them.
std::vector<Json> events_of(const RunConfig& config, const Checkpoints& checkpoints = {},
                            size_t stop_after = 0) {
  static const LoadedDataset dataset = toy_dataset();
  std::vector<Json> events;
  std::atomic<bool> stop = false;
  const auto sink = [&](const Json& event) {
    events.push_back(event);
    if (events.size() == stop_after) stop = true;
  };
  if (config.purpose == Purpose::kTiming) {
    run_timing(config, dataset, sink, stop);
  } else {
    run_accuracy(config, dataset, checkpoints, sink, stop);
  }
  return events;
}

std::vector<Json> of_kind(const std::vector<Json>& events, const std::string& kind) {
  std::vector<Json> found;
  for (const auto& event : events) {
    if (event.at("event") == kind) found.push_back(event);
  }
  return found;
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

// From the layer's slot to the optimizer: a training under a loss scale that changes is the
// training without one, whatever the method.
TEST(ScheduledLayers, UnderALossScaleTrainAlike) {
  const auto train = [](const std::string& method, bool scaled) {
    const NetworkInput input{1, 8, 2};
    const auto network = make_network("small_cnn:width=4", input, /*seed=*/1);
    const auto infos = layer_infos(*network, input);
    network->train();
    Schedule schedule(make_schedule("slice:layers=2"), infos, method, library_methods(), 4, 4);
    ScheduledLayers layers(network->layers(), schedule, /*seed=*/1);
    Recipe recipe;
    std::vector<NamedTensor> parameters;
    for (const auto& item : network->named_parameters()) {
      parameters.emplace_back(item.key(), item.value());
    }
    const auto optimizer = make_optimizer(recipe, parameters);
    LossScale scale(at::kCPU);
    for (int64_t step = 0; step < 4; ++step) {
      scale.scale().fill_(step % 2 == 0 ? 1024.0 : 4096.0);
      layers.begin_step(step, scaled ? scale.scale() : at::Tensor());
      optimizer->zero_grad();
      at::manual_seed(step);
      const auto loss = network->forward(at::randn({8, 1, 8, 8})).square().mean();
      (scaled ? scale.scaled(loss) : loss).backward();
      optimizer->step(0.05, scaled ? &scale : nullptr);
    }
    return network->parameters();
  };
  for (const auto* entry : Registry<MethodEntry>::instance().all()) {
    const auto plain = train(entry->name, false), scaled = train(entry->name, true);
    for (size_t i = 0; i < plain.size(); ++i) {
      EXPECT_TRUE(close(scaled[i], plain[i], 1e-4)) << entry->name << " " << i;
    }
  }
}

TEST(Session, EvaluatesByTheAverageAndTrainsOnWithoutIt) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  Session plain(config, dataset);
  config.recipe.ema = 0.999;
  Session averaged(config, dataset);
  for (int i = 0; i < 6; ++i) {
    plain.step();
    averaged.step();
    const auto a = plain.evaluate(plain.split().test), b = averaged.evaluate(plain.split().test);
    EXPECT_NE(a.loss, b.loss) << "step " << i;
  }
  const auto a = plain.network().parameters(), b = averaged.network().parameters();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;
}

// Channels that training leaves out are missing in its statistics. Evaluation by other ones leaves
// the training as it is.
TEST(Session, EvaluatesByStatisticsTakenAnewAndTrainsOnAsBefore) {
  const auto dataset = toy_dataset();
  auto config = toy_config("topk_crs:ratio=0.5", "slice:layers=1::1");
  Session plain(config, dataset);
  config.recipe.norm_examples = 100;
  Session renewing(config, dataset);
  for (int i = 0; i < 6; ++i) {
    plain.step();
    renewing.step();
    const auto a = plain.evaluate(plain.split().test);
    const auto b = renewing.evaluate(renewing.split().test);
    EXPECT_NE(a.loss, b.loss) << "step " << i;
    EXPECT_EQ(renewing.evaluate(renewing.split().test).loss, b.loss) << "step " << i;
  }
  EXPECT_TRUE(renewing.network().is_training());
  const auto a = plain.network().parameters(), b = renewing.network().parameters();
  for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(at::equal(a[i], b[i])) << i;

  // Of these weights, also where others were evaluated at the same step.
  config.recipe.learning_rate *= 2;
  Session other(config, dataset);
  while (other.steps_done() < 7) other.step();
  renewing.step();
  const auto before = other.evaluate(other.split().test);
  other.restore(renewing.save());
  const auto after = other.evaluate(other.split().test);
  EXPECT_NE(after.loss, before.loss);
  EXPECT_EQ(after.loss, renewing.evaluate(renewing.split().test).loss);
}

TEST(Session, RecordingLeavesTheTrainingAsItWas) {
  const auto dataset = toy_dataset();
  auto config = toy_config("zero", "slice:steps=::2");
  config.network = "wide_resnet:depth=10,width=1,dropout=0.3";  // batch norms, and draws
  const auto trained = [&](bool records) {
    Session session(config, dataset);
    for (int step = 0; step < 4; ++step) {
      if (records && step == 2) {
        EXPECT_FALSE(session.record().empty());
      }
      session.step();
    }
    for (const auto* layer : session.network().layers()) {
      EXPECT_EQ(layer->slot.norm_follows, layer->info.norm_follows) << layer->info.name;
    }
    return session.save();
  };
  const auto plain = trained(false), recorded = trained(true);
  EXPECT_EQ(recorded.state, plain.state);
  ASSERT_EQ(recorded.tensors.size(), plain.tensors.size());
  for (const auto& [name, tensor] : plain.tensors) {
    EXPECT_TRUE(at::equal(recorded.tensor(name), tensor)) << name;
  }
}

TEST(Session, FlippingAtTestTimeSeesBothSides) {
  auto dataset = toy_dataset();
  auto config = toy_config();
  config.recipe.test_flip = true;
  Session session(config, dataset);
  for (int i = 0; i < 6; ++i) session.step();
  const auto& test = session.split().test;
  const DeviceImages mirrored{test.pixels.flip(2), test.labels};
  EXPECT_NEAR(session.evaluate(test).loss, session.evaluate(mirrored).loss, 1e-6);
  config.recipe.test_flip = false;
  Session without(config, dataset);
  for (int i = 0; i < 6; ++i) without.step();
  EXPECT_GT(std::abs(without.evaluate(test).loss - without.evaluate(mirrored).loss), 1e-5);
}

TEST(TimingRun, RefusesAScheduleThatItDoesNotComeBy) {
  auto config = toy_config("zero", "slice:until=0.5dur");
  config.purpose = Purpose::kTiming;
  try {
    events_of(config);
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("until = \"0.5dur\""), std::string::npos);
  }
}

TEST(TimingRun, AlternatesWholePeriodsOfBothNetworks) {
  auto config = toy_config("zero", "slice:steps=::4");
  config.purpose = Purpose::kTiming;
  config.blocks = 6;
  config.block_steps = 5;
  const auto events = events_of(config);
  const auto blocks = of_kind(events, "block");
  ASSERT_EQ(blocks.size(), 12u);
  int dense_first = 0;
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i]["pair"], i / 2);
    EXPECT_EQ(blocks[i]["order"], i % 2);
    EXPECT_EQ(blocks[i]["steps"], 8);  // five, rounded up to two periods
    EXPECT_GT(blocks[i]["ns"].get<int64_t>(), 0);
    dense_first += i % 2 == 0 && blocks[i]["arm"] == "dense";
    if (i % 2 == 1) {
      EXPECT_NE(blocks[i]["arm"], blocks[i - 1]["arm"]);
    }
  }
  EXPECT_GT(dense_first, 0);
  EXPECT_LT(dense_first, 6);
  EXPECT_EQ(events.back()["state"], "finished");
}

// A timing run whose probe shows `shares` in turn, then cores of its own.
std::vector<Json> probed_events(std::vector<double> shares) {
  auto config = toy_config("zero", "slice:steps=::2");
  config.purpose = Purpose::kTiming;
  config.blocks = 2;
  config.block_steps = 2;
  const auto dataset = toy_dataset();
  std::vector<Json> events;
  std::atomic<bool> stop = false;
  size_t probes = 0;
  run_timing(
      config, dataset, [&](const Json& event) { events.push_back(event); }, stop,
      [&] {
        const double share = probes < shares.size() ? shares[probes++] : 1.0;
        return MachineState{.core_share = share, .clock_mhz = 3000};
      });
  return events;
}

TEST(TimingRun, ABlockWhoseThreadsSharedACoreIsTimedAgain) {
  // Before the first block, after the first, after the second: that one is done again.
  const auto events = probed_events({1.0, 1.0, 0.5});
  const auto blocks = of_kind(events, "block");
  ASSERT_EQ(blocks.size(), 4u);
  EXPECT_EQ(blocks[1]["repeats"], 1);
  for (const size_t i : {0, 2, 3}) EXPECT_EQ(blocks[i]["repeats"], 0) << i;
  for (const auto& block : blocks) {
    EXPECT_EQ(block["core_share"], 1.0);
    EXPECT_EQ(block["clock_mhz"], 3000);
  }
  EXPECT_FALSE(events.back().contains("taint"));
}

TEST(TimingRun, OneWhoseThreadsKeepSharingACoreSaysSo) {
  const auto events = probed_events(std::vector<double>(500, 0.5));
  EXPECT_EQ(events.back()["state"], "finished");
  EXPECT_EQ(events.back()["taint"],
            Json::array({"its threads shared cores in 4 of 4 blocks (0.50 of a core each at "
                         "worst)"}));
}

// The values of a metric of a timing run, by split in their order.
std::map<std::string, std::vector<double>> timed_metric(const std::vector<Json>& events,
                                                        const std::string& name) {
  std::map<std::string, std::vector<double>> values;
  for (const auto& event : of_kind(events, "metric")) {
    if (event["name"] == name) values[event["split"]].push_back(event["value"]);
  }
  return values;
}

TEST(TimingRun, TimesTheGradientsOfTheConvolutionsInPairs) {
  auto config = toy_config("zero", "slice:layers=1::1,steps=::2");
  config.purpose = Purpose::kTiming;
  config.blocks = 4;
  config.block_steps = 2;
  const auto began = std::chrono::steady_clock::now();
  const auto events = events_of(config);
  const std::chrono::duration<double, std::nano> whole = std::chrono::steady_clock::now() - began;
  const auto backward = timed_metric(events, "backward_ns");
  ASSERT_EQ(backward.size(), 2u);
  double backward_steps = 0;
  for (const char* arm : {"dense", "approx"}) {
    ASSERT_EQ(backward.at(arm).size(), 4u) << "a value a pair, as the blocks";
    for (const double ns : backward.at(arm)) {
      EXPECT_GT(ns, 0);
      backward_steps += 2 * ns;  // a period of the schedule
    }
  }
  EXPECT_LT(backward_steps, whole.count()) << "part of the run, whatever else the machine does";
  // Each pair has a step of its own, by which its two are found.
  std::map<int64_t, int> pairs;
  for (const auto& event : of_kind(events, "metric")) {
    if (event["name"] == "backward_ns") ++pairs[event["step"]];
  }
  EXPECT_EQ(pairs.size(), 4u);
  for (const auto& [at, values] : pairs) EXPECT_EQ(values, 2) << at;
}

// Twenty pairs of blocks, ten of backward passes: they cost time and say as much.
TEST(TimingRun, AtMostTenPairsOfBackwardPasses) {
  auto config = toy_config("zero", "slice");
  config.purpose = Purpose::kTiming;
  config.blocks = 12;
  config.block_steps = 1;
  EXPECT_EQ(timed_metric(events_of(config), "backward_ns").at("dense").size(), 10u);
}

// Before and after the eight blocks of steps, then the second pair of backward passes, whatever is
// tried again.
TEST(TimingRun, BackwardPassesThatSharedACoreAreLeftOutAndTaintNothing) {
  std::vector<double> shares(5, 1.0);     // of the four blocks
  shares.insert(shares.end(), 3, 1.0);    // the first pair
  shares.insert(shares.end(), 100, 0.5);  // the second
  const auto events = probed_events(shares);
  EXPECT_EQ(timed_metric(events, "backward_ns").at("approx").size(), 1u);
  EXPECT_FALSE(events.back().contains("taint"));
}

TEST(TimingRun, TheOrderOfItsBlocksIsBalancedAndNotThatOfItsSeed) {
  std::set<Json> draws;
  for (int run = 0; run < 4; ++run) {
    const auto events = probed_events({});
    draws.insert(events.front()["order_draw"]);
    int dense_first = 0;
    for (const auto& block : of_kind(events, "block")) {
      dense_first += block["order"] == 0 && block["arm"] == "dense";
    }
    EXPECT_EQ(dense_first, 1) << "of two pairs";
  }
  EXPECT_GT(draws.size(), 1u) << "four runs of one seed";
}

TEST(BlockOrder, EveryTwoPairsHaveBothOrders) {
  std::set<std::vector<bool>> orders;
  for (uint64_t draw = 0; draw < 64; ++draw) {
    const auto order = exact_first(7, draw);
    ASSERT_EQ(order.size(), 7u);
    for (size_t pair = 0; pair + 1 < order.size(); pair += 2) {
      EXPECT_NE(order[pair], order[pair + 1]);
    }
    EXPECT_EQ(exact_first(7, draw), order);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 16u) << "all that there are";
}

TEST(TimingRun, ASmallerNetworkIsHeldAgainstALargerOne) {
  auto config = toy_config();
  config.purpose = Purpose::kTiming;
  config.blocks = 3;
  config.block_steps = 2;
  config.network = "small_cnn:width=2";
  config.timed_against = "small_cnn:width=64";
  const auto dataset = toy_dataset();
  const Operators operators;
  const auto worked = [](const char* sizes) {
    return std::ranges::any_of(Operators::calls(), [sizes](const std::string& call) {
      return call.starts_with("aten::convolution ") && call.find(sizes) != std::string::npos;
    });
  };
  std::string state;
  int blocks = 0;
  const auto sink = [&](const Json& event) {
    if (event.at("event") == "final") state = event.at("state");
    // Before the first block both are warmed up.
    if (event.at("event") == "block" && event.at("pair") > 0) {
      ++blocks;
      const bool dense = event.at("arm") == "dense";
      EXPECT_EQ(worked(" [64,"), dense) << event;
      EXPECT_EQ(worked(" [2,"), !dense) << event;
    }
    Operators::calls().clear();
  };
  std::atomic<bool> stop = false;
  run_timing(config, dataset, sink, stop);
  EXPECT_EQ(blocks, 4);
  EXPECT_EQ(state, "finished");
}

TEST(TimingRun, TheLibrarysStepIsHeldAgainstTheBest) {
  auto config = toy_config();
  config.purpose = Purpose::kTiming;
  config.blocks = 3;
  config.block_steps = 2;
  config.operators = OperatorSet::kLibrary;
  const auto dataset = toy_dataset();
  const Operators operators;
  int blocks = 0;
  const auto sink = [&](const Json& event) {
    EXPECT_NE(event.value("name", ""), "phase_share") << "of whose step?";
    EXPECT_NE(event.value("name", ""), "backward_ns");
    // Before the first block both are warmed up.
    if (event.at("event") == "block" && event.at("pair") > 0) {
      ++blocks;
      const bool norm_of_libtorch = std::ranges::any_of(
          Operators::calls(),
          [](const std::string& call) { return call.starts_with("aten::batch_norm "); });
      EXPECT_EQ(norm_of_libtorch, event.at("arm") == "approx") << event;
    }
    Operators::calls().clear();
  };
  std::atomic<bool> stop = false;
  run_timing(config, dataset, sink, stop);
  EXPECT_EQ(blocks, 4);
}

// Every training image of an epoch, as a hash, to follow it through the shuffle.
std::vector<size_t> seen_in_epoch(Batches& batches, int64_t epoch) {
  std::vector<size_t> hashes;
  for (int64_t step = 0; step < batches.per_epoch(); ++step) {
    const auto x = batches.at(epoch * batches.per_epoch() + step).x;
    for (int64_t i = 0; i < x.size(0); ++i) {
      const auto image = x[i].contiguous();
      hashes.push_back(std::hash<std::string_view>()(
          {static_cast<const char*>(image.const_data_ptr()), image.nbytes()}));
    }
  }
  return hashes;
}

TEST(Batches, AnEpochIsAPermutationAndTheNextIsAnother) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.batch_size = 46;  // 230 images: five whole batches
  auto split = split_dataset(dataset, config, at::kCPU);
  ASSERT_EQ(split.train.count(), 231);
  Batches batches(split.train, dataset, config);
  auto first = seen_in_epoch(batches, 0), second = seen_in_epoch(batches, 1),
       again = seen_in_epoch(batches, 0);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, second);
  EXPECT_EQ(first.size(), 230u);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
}

// Which images of the training part a batch has.
std::vector<int64_t> rows_of(const Batch& batch, const LoadedDataset& dataset) {
  const auto& set = dataset.train;
  const auto pixels = at::from_blob(const_cast<uint8_t*>(set.pixels.data()),
                                    {set.count, set.height, set.width, set.channels}, at::kByte);
  const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
  const auto all = normalised(pixels, mean, scale);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < batch.x.size(0); ++i) {
    const auto distance = (all - batch.x[i]).abs().sum({1, 2, 3});
    EXPECT_EQ(distance.min().item<double>(), 0);
    rows.push_back(distance.argmin().item<int64_t>());
  }
  return rows;
}

TEST(Batches, OfOneProcessAreThoseOnRecord) {
  const auto dataset = toy_dataset(20, 4);
  auto config = toy_config();
  config.split = SplitKind::kPaper;
  config.batch_size = 5;
  config.seed = 3;
  Batches batches(split_dataset(dataset, config, at::kCPU).train, dataset, config);
  using Rows = std::vector<int64_t>;
  EXPECT_EQ(rows_of(batches.at(0), dataset), (Rows{6, 2, 13, 12, 15}));
  EXPECT_EQ(rows_of(batches.at(3), dataset), (Rows{19, 17, 7, 16, 14}));
  EXPECT_EQ(rows_of(batches.at(4), dataset), (Rows{13, 5, 7, 19, 17}));
}

TEST(Batches, RanksTakeSharesOfWhatOneProcessSees) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.recipe.crop_padding = 2;
  config.recipe.flip = true;
  config.recipe.cutout = 3;
  config.batch_size = 12;
  const auto split = split_dataset(dataset, config, at::kCPU);
  Batches whole(split.train, dataset, config);
  for (const int64_t size : {1, 2, 3, 12}) {
    std::vector<std::unique_ptr<Batches>> ranks;
    for (int64_t rank = 0; rank < size; ++rank) {
      ranks.push_back(std::make_unique<Batches>(split.train, dataset, config,
                                                World{.rank = rank, .size = size}));
      EXPECT_EQ(ranks.back()->per_epoch(), whole.per_epoch());
    }
    for (const int64_t step : {int64_t{0}, int64_t{1}, whole.per_epoch() + 1}) {
      std::vector<at::Tensor> x, labels;
      for (const auto& rank : ranks) {
        const auto batch = rank->at(step);
        EXPECT_EQ(batch.x.size(0), 12 / size);
        x.push_back(batch.x);
        labels.push_back(batch.labels);
      }
      // Together the whole, in order, and so nothing twice.
      EXPECT_TRUE(at::equal(at::cat(x), whole.at(step).x)) << size << " at " << step;
      EXPECT_TRUE(at::equal(at::cat(labels), whole.at(step).labels)) << size << " at " << step;
    }
  }
  EXPECT_THROW(Batches(split.train, dataset, config, World{.rank = 0, .size = 5}), Error);
}

TEST(Batches, HoldoutTrainAndTestAreDisjointAndFixed) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  const auto a = split_dataset(dataset, config, at::kCPU);
  config.seed = 9;
  const auto b = split_dataset(dataset, config, at::kCPU);
  EXPECT_EQ(a.holdout.count(), 25);
  EXPECT_EQ(a.train.count() + a.holdout.count(), 256);
  EXPECT_TRUE(at::equal(a.holdout.pixels, b.holdout.pixels));
  config.train_examples = 232;
  EXPECT_THROW(split_dataset(dataset, config, at::kCPU), Error);
}

// Which of the data set's training images a part has.
std::set<int64_t> rows_in(const DeviceImages& part, const LoadedDataset& dataset) {
  const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
  const auto rows = rows_of({normalised(part.pixels, mean, scale), part.labels}, dataset);
  return {rows.begin(), rows.end()};
}

TEST(Batches, EachSeedDrawsItsOwnSubsetOfTheTrainingPart) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.train_examples = 60;
  const auto subset = [&](SubsetKind kind, int64_t seed) {
    config.train_subset = kind;
    config.seed = seed;
    const auto split = split_dataset(dataset, config, at::kCPU);
    auto train = rows_in(split.train, dataset);
    const auto held = rows_in(split.holdout, dataset);
    EXPECT_EQ(train.size(), 60u);
    for (const auto row : train) EXPECT_FALSE(held.contains(row)) << row;
    return train;
  };
  // Runs that were stored before each seed drew its own keep theirs.
  EXPECT_EQ(subset(SubsetKind::kShared, 0), subset(SubsetKind::kShared, 7));
  const auto first = subset(SubsetKind::kSeed, 0), second = subset(SubsetKind::kSeed, 7);
  EXPECT_EQ(first, subset(SubsetKind::kSeed, 0));
  EXPECT_NE(first, subset(SubsetKind::kShared, 0));
  // Two draws of 60 out of 231 share 60 * 60 / 231 = 15.6 on average, 2.9 the standard deviation.
  std::vector<int64_t> common;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                        std::back_inserter(common));
  EXPECT_GT(common.size(), 4u);
  EXPECT_LT(common.size(), 28u);
}

// Augmentation against plain loops: every image must be one of the crops and flips of its source.
TEST(Batches, CropsFlipsAndCutoutsAreThoseOfTheSource) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.recipe.crop_padding = 2;
  config.recipe.flip = true;
  for (const std::string mode : {"zero", "reflect"}) {
    config.recipe.padding_mode = parse<PaddingMode>(mode, "mode");
    auto split = split_dataset(dataset, config, at::kCPU);
    const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
    auto plain_config = config;
    plain_config.recipe.crop_padding = 0;
    plain_config.recipe.flip = false;
    Batches batches(split.train, dataset, config), plain(split.train, dataset, plain_config);
    const auto x = batches.at(3).x, source = plain.at(3).x;
    EXPECT_TRUE(at::equal(batches.at(3).labels, plain.at(3).labels));
    EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
    int moved = 0, flipped = 0;
    for (int64_t i = 0; i < x.size(0); ++i) {
      const auto padded = mode == "zero"
                              ? at::constant_pad_nd(source[i].unsqueeze(0), {2, 2, 2, 2})
                              : at::reflection_pad2d(source[i].unsqueeze(0), {2, 2, 2, 2});
      bool found = false;
      for (int64_t top = 0; top < 5 && !found; ++top) {
        for (int64_t left = 0; left < 5 && !found; ++left) {
          for (const bool flip : {false, true}) {
            auto crop = padded[0].slice(1, top, top + 8).slice(2, left, left + 8);
            if (flip) crop = crop.flip({2});
            if (!at::allclose(crop, x[i])) continue;
            found = true;
            moved += top != 2 || left != 2;
            flipped += flip;
            break;
          }
        }
      }
      EXPECT_TRUE(found) << mode << " image " << i;
    }
    EXPECT_GT(moved, 8);
    EXPECT_GT(flipped, 2);
  }
  config.recipe.cutout = 3;
  auto split = split_dataset(dataset, config, at::kCPU);
  Batches batches(split.train, dataset, config);
  config.recipe.cutout = 0;
  Batches whole(split.train, dataset, config);
  const auto holes = (batches.at(3).x != whole.at(3).x).sum({1, 2, 3});
  EXPECT_LE(holes.max().item<int64_t>(), 9);
  EXPECT_GT(holes.max().item<int64_t>(), 3);
}

// What each call saw: the gradients, undefined ones included.
class RecordingReduction final : public GradientReduction {
 public:
  explicit RecordingReduction(std::vector<std::vector<NamedTensor>>& calls) : calls_(calls) {}

  void reduce(const std::vector<NamedTensor>& parameters) override {
    auto& call = calls_.emplace_back();
    for (const auto& [name, parameter] : parameters) {
      const auto& gradient = parameter.grad();
      call.emplace_back(name, gradient.defined() ? gradient.clone() : gradient);
    }
  }

 private:
  std::vector<std::vector<NamedTensor>>& calls_;
};

TEST(Session, GradientsAreReducedOnceAStepBeforeAnythingElse) {
  const auto dataset = toy_dataset();
  auto config = toy_config("zero:freeze=true", "slice:layers=2");
  config.recipe.clip_norm = 1e-3;
  std::vector<std::vector<NamedTensor>> calls;
  Session session(config, dataset, nullptr, std::make_unique<RecordingReduction>(calls));
  for (int step = 0; step < 3; ++step) session.step();
  ASSERT_EQ(calls.size(), 3u);
  std::vector<std::string> names;
  for (const auto& item : session.network().named_parameters()) names.push_back(item.key());
  for (const auto& call : calls) {
    ASSERT_EQ(call.size(), names.size());
    double square = 0;
    for (size_t i = 0; i < call.size(); ++i) {
      const auto& [name, gradient] = call[i];
      EXPECT_EQ(name, names[i]);
      EXPECT_EQ(gradient.defined(), name != "conv2.weight") << name;
      if (gradient.defined()) square += gradient.square().sum().item<double>();
    }
    EXPECT_GT(std::sqrt(square), 0.01) << "they are clipped already";
  }
}

// Weights are drawn from LibTorch's one generator, which threads must not use at once.
std::unique_ptr<Session> session_of(const RunConfig& config, const LoadedDataset& dataset,
                                    std::shared_ptr<Collectives> ranks) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  return std::make_unique<Session>(config, dataset, std::move(ranks));
}

at::Tensor weights_of(Session& session) {
  std::vector<at::Tensor> flat;
  for (const auto& parameter : session.network().parameters()) {
    flat.push_back(parameter.detach().flatten().clone());
  }
  return at::cat(flat);
}

// That two ranks come to what one process comes to, in 20 steps.
void expect_ranks_train_as_one(const RunConfig& config) {
  const auto dataset = toy_dataset();
  Session alone(config, dataset);
  const auto before = weights_of(alone);
  for (int step = 0; step < 20; ++step) alone.step();
  const double loss = alone.take_mean_loss();
  const auto score = alone.evaluate(alone.split().test);
  std::vector<at::Tensor> weights(2);
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    for (int step = 0; step < 20; ++step) session.step();
    weights[static_cast<size_t>(ranks->world().rank)] = weights_of(session);
    EXPECT_NEAR(session.take_mean_loss(), loss, 1e-5);
    const auto found = session.evaluate(session.split().test);
    EXPECT_NEAR(found.accuracy, score.accuracy, 1e-3);
    EXPECT_NEAR(found.loss, score.loss, 1e-3);
  });
  EXPECT_TRUE(at::equal(weights[0], weights[1]));
  EXPECT_TRUE(close(weights[0], weights_of(alone), 1e-4));
  EXPECT_GT((weights_of(alone) - before).abs().max().item<double>(), 0.05);
}

TEST(Session, TwoProcessesTrainAsOneDoes) {
  auto config = toy_config();
  config.network = "mnist_mlp:hidden=8,dropout=0";  // a batch norm sees the share of its process
  expect_ranks_train_as_one(config);
}

TEST(Session, TwoProcessesWithSynchronisedNormsTrainAsOneDoes) {
  auto config = toy_config();  // of four batch norms
  config.norm_statistics = NormScope::kSynchronised;
  expect_ranks_train_as_one(config);
}

TEST(Session, LocalNormsSeeTheirShareAlone) {
  const auto dataset = toy_dataset();
  const auto config = toy_config();
  Session alone(config, dataset);
  for (int step = 0; step < 20; ++step) alone.step();
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    for (int step = 0; step < 20; ++step) session.step();
    EXPECT_FALSE(close(weights_of(session), weights_of(alone), 1e-2));
  });
}

// Whatever the number of ranks a method leaves out the same share, and ranks together do what one
// does.
TEST(Session, RanksCountTheProductsOfTheirShare) {
  const auto dataset = toy_dataset();
  const auto config = toy_config("topk_weights:ratio=0.5", "slice");
  const auto done = [](const std::vector<Json>& events) {
    double dense = 0, macs = 0;
    for (const auto& event : events) {
      if (event["event"] != "layer") continue;
      dense += event["macs_dense"].get<double>();
      macs += event["macs_done"].get<double>();
    }
    return std::pair(dense, macs);
  };
  Session alone(config, dataset);
  alone.step();
  const auto [dense, macs] = done(alone.layer_events());
  ASSERT_LT(macs, 0.9 * dense);
  as_ranks(2, [&, dense = dense, macs = macs](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    own->step();
    const auto [own_dense, own_macs] = done(own->layer_events());
    EXPECT_DOUBLE_EQ(2 * own_dense, dense);
    EXPECT_DOUBLE_EQ(2 * own_macs, macs);
  });
}

// Batch norms see their share, so running statistics differ until they are averaged.
TEST(Session, RanksHaveOneStateAfterEachStep) {
  const auto dataset = toy_dataset();
  const auto config = toy_config();
  std::vector<Checkpoint> states(2);
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    for (int step = 0; step < 5; ++step) session.step();
    states[static_cast<size_t>(ranks->world().rank)] = session.save();
  });
  size_t buffers = 0;
  ASSERT_EQ(states[0].tensors.size(), states[1].tensors.size());
  for (const auto& [name, tensor] : states[0].tensors) {
    EXPECT_TRUE(at::equal(tensor, states[1].tensor(name))) << name;
    buffers += name.starts_with("buffer:");
  }
  EXPECT_GT(buffers, 0u) << "nothing that could differ";
}

// Rank 0's weights after so many steps more, and its checkpoint of them.
std::pair<Checkpoint, at::Tensor> reached_by(int64_t size, const RunConfig& config, int steps,
                                             const Checkpoint* from = nullptr) {
  const auto dataset = toy_dataset();
  std::pair<Checkpoint, at::Tensor> reached;
  as_ranks(size, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    const auto own = session_of(config, dataset, ranks);
    Session& session = *own;
    if (from != nullptr) session.restore(*from);
    for (int step = 0; step < steps; ++step) session.step();
    const auto saved = session.save();
    if (ranks->world().rank == 0) reached = {saved, weights_of(session)};
  });
  return reached;
}

// Plain gradient descent with one step from the same weights: what each rank that computes a
// layer's weight gradient would do with it, averaged.
TEST(Session, AWeightGoesByTheRanksThatComputeItsGradient) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.method = "zero";
  config.recipe.optimizer = UpdateRule::kSgd;
  config.recipe.momentum = 0;
  config.recipe.weight_decay = 0;
  config.norm_statistics = NormScope::kSynchronised;
  const auto moved = [&](const std::vector<Rule>& rules) {
    config.schedule = rules;
    std::vector<at::Tensor> weights(4);
    as_ranks(4, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
      const auto session = session_of(config, dataset, ranks);
      const auto before = weights_of(*session);
      session->step();
      weights[static_cast<size_t>(ranks->world().rank)] = weights_of(*session) - before;
    });
    EXPECT_TRUE(at::equal(weights[0], weights[1]));
    EXPECT_TRUE(at::equal(weights[0], weights[3]));
    return weights[0];
  };
  const auto of_all = moved({{.layers = "2", .steps = "1::1000"}});
  at::Tensor mean = at::zeros_like(of_all);
  for (const char* freeze : {"false", "true"}) {
    mean.zero_();
    for (int64_t rank = 0; rank < 4; ++rank) {
      const auto without = moved({{.layers = "2",
                                   .method = fmt::format("zero:freeze={}", freeze),
                                   .ranks = fmt::format("{}", rank)}});
      EXPECT_FALSE(close(without, of_all, 1e-3)) << rank;
      mean += without / 4;
    }
    EXPECT_TRUE(close(mean, of_all, 1e-5)) << "each left out once: " << freeze;
  }
}

// A checkpoint has the memory of the whole batch, put together from all ranks.
TEST(Session, RefusesAMemoryThatSomeRanksAloneWouldHave) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.method = "msbp";
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    auto own = config;
    own.schedule = {{.layers = "2", .ranks = "0"}};
    EXPECT_THROW(session_of(own, dataset, ranks), Error);
    own.schedule = {{.layers = "2", .ranks = "0:2"}};
    EXPECT_NO_THROW(session_of(own, dataset, ranks));
  });
}

// Of a replay the host sees nothing: here it does nothing at all.
TEST(Session, WhatRanksSendInReplaysIsCounted) {
  class Silent final : public StepRecorder {
    std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
      struct Nothing final : RecordedStep {
        void replay() override {}
      };
      step();
      return std::make_unique<Nothing>();
    }
  };
  const auto dataset = toy_dataset();
  const auto config = toy_config("topk_weights:ratio=0.5", "slice:steps=::2");
  as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
    std::vector<std::vector<Json>> sent;
    for (const bool captured : {false, true}) {
      const auto on_device = std::make_shared<AsOnDevice>(ranks);
      const auto session = session_of(config, dataset, on_device);
      if (captured) session->capture_steps(std::make_unique<Silent>());
      for (int step = 0; step < 12; ++step) session->step();
      EXPECT_GE(on_device->watched, 12) << "after each step";
      auto& events = sent.emplace_back();
      for (const auto& event : session->layer_events()) {
        if (event["event"] == "traffic") events.push_back(event);
      }
      if (!captured) continue;
      EXPECT_EQ(session->graph_report()->steps.at("replayed"), 8);
    }
    EXPECT_FALSE(sent[0].empty());
    EXPECT_EQ(sent[0], sent[1]);
  });
}

TEST(Session, SendsTheSampledChannelsOfAMethodThatGoesByWeights) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.method = "topk_weights:ratio=0.5";
  config.schedule = make_schedule("slice:layers=2");
  const auto layer = [&](const std::string& method) {
    config.method = method;
    Json sent;
    std::string name;
    as_ranks(2, [&](const std::shared_ptr<ThreadCollectives>& ranks) {
      const auto session = session_of(config, dataset, ranks);
      for (int step = 0; step < 3; ++step) session->step();
      if (ranks->world().rank != 0) return;
      name = session->network().layers().at(1)->info.name;
      for (const auto& event : session->layer_events()) {
        if (event["event"] == "traffic" && event["layer"] == name) sent = event;
      }
    });
    return sent;
  };
  const auto sampled = layer("topk_weights:ratio=0.5");
  EXPECT_EQ(sampled["calls"], 3);
  EXPECT_EQ(sampled["bytes"].get<int64_t>() * 2, sampled["bytes_dense"].get<int64_t>());
  const auto drawn = layer("uniform_crs:ratio=0.5");
  EXPECT_EQ(drawn["bytes_dense"], sampled["bytes_dense"]);
  EXPECT_GT(drawn["bytes"], sampled["bytes"]);
  const auto zero = layer("zero");
  EXPECT_EQ(zero["bytes"], 0);
  EXPECT_EQ(zero["bytes_dense"], sampled["bytes_dense"]);
}

TEST(Session, ACheckpointOfRanksIsOneOfAnyNumber) {
  auto config = toy_config();
  config.norm_statistics = NormScope::kSynchronised;
  const auto half = reached_by(2, config, 6).first;
  const auto whole = reached_by(2, config, 12).second;
  EXPECT_TRUE(at::equal(reached_by(2, config, 6, &half).second, whole));
  for (const int64_t size : {1, 4}) {
    EXPECT_TRUE(close(reached_by(size, config, 6, &half).second, whole, 1e-4)) << size;
  }
}

// What a method remembers of each image is in the checkpoint of all, and each takes its own again.
TEST(Session, RanksGoOnWithWhatTheirMethodsRemember) {
  const auto config = toy_config("msbp:ratio=0.1", "slice:layers=2");
  const auto half = reached_by(2, config, 6).first;
  EXPECT_TRUE(at::equal(reached_by(2, config, 6, &half).second, reached_by(2, config, 12).second));
  EXPECT_TRUE(std::ranges::any_of(half.tensors, [&](const auto& named) {
    return named.first.starts_with("memory:") && named.second.size(0) == config.batch_size;
  }));
}

TEST(Session, RefusesWhatDoesNotFit) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.network = "vgg19";
  EXPECT_THROW(Session(config, dataset), Error);
  EXPECT_THROW(from_json({{"device", "tpu"}}, config), Error);
  for (const auto precision : {Precision::kFp16, Precision::kTf32}) {
    config = toy_config();
    config.precision = precision;
    EXPECT_THROW(Session(config, dataset), Error) << name(precision) << " on a CPU";
  }
}

}  // namespace
}  // namespace approx
