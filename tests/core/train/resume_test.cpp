// A training that was stopped and goes on from a checkpoint ends where one that was not stopped
// ends, bit for bit.
#include <filesystem>
#include <fstream>

#include "base/digest.h"
#include "core/engine/engine.h"
#include "core/networks/network.h"
#include "core/train/accuracy_run.h"
#include "core/train/checkpoint.h"
#include "core/train/evaluation.h"
#include "core/train/session.h"
#include "tests/core/train/toy_run.h"
#include "tests/testing.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

const LoadedDataset& dataset() {
  static const LoadedDataset dataset = toy_dataset();
  return dataset;
}

RunConfig resumed_config(const std::string& method) {
  const auto known = Registry<MethodEntry>::instance().all();
  const auto name = parse_spec(method).name;
  if (std::ranges::any_of(
          known, [&](const auto* entry) { return entry->name == name && entry->stops_blocks; })) {
    auto config = toy_run(method, "random_steps:p=0.4", 3);
    config.network = "resnet14";
    return config;
  }
  return toy_run(method, method == "dense" ? "" : "slice:layers=1::1,steps=::2", 3);
}

std::string state_hash(const Session& session) { return sha256_hex(encode(session.save())); }

// Trains so many steps with the evaluations of a run every seventh.
void train(Session& session, const RunConfig& config, int64_t steps) {
  Evaluation evaluation(config, dataset(), session);
  for (int64_t i = 0; i < steps; ++i) {
    session.step();
    if (session.steps_done() % 7 != 0) continue;
    session.observe(evaluation.score(session.split().holdout).accuracy);
    session.take_densities();
  }
}

void expect_same_end(const RunConfig& config) {
  constexpr int64_t kSteps = 20;
  Session straight(config, dataset());
  train(straight, config, kSteps);
  const std::string wanted = state_hash(straight);
  for (const int64_t stop : {0, 1, 7, 12, 19}) {
    std::string bytes;
    {
      Session first(config, dataset());
      train(first, config, stop);
      bytes = encode(first.save());
      first.step();  // what is done after it was saved is lost
    }
    Session second(config, dataset());
    second.restore(decode(bytes));
    EXPECT_EQ(second.steps_done(), stop);
    train(second, config, kSteps - stop);
    EXPECT_EQ(state_hash(second), wanted) << "stopped after step " << stop;
    EXPECT_EQ(Json(second.layer_events()), Json(straight.layer_events()));
  }
  auto other = config;
  other.seed = 1;
  Session different(other, dataset());
  train(different, other, kSteps);
  EXPECT_NE(state_hash(different), wanted) << "the test could not fail";
}

TEST(Resume, DrawnStepsGoOnBitForBit) {
  auto config = resumed_config("zero:freeze=true");
  config.schedule = make_schedule("random_steps:p=0.5");
  expect_same_end(config);
  expect_same_end(resumed_config("block_skip:rescale=true"));
}

// Measured after the fourth of 42 steps: before, at and behind a checkpoint.
TEST(Resume, MeasuredRatesGoOnBitForBit) {
  auto config = resumed_config("block_skip:rescale=true");
  config.schedule = make_schedule("random_steps:p=0.4,rates=sensitivity");
  expect_same_end(config);
}

TEST(Resume, FrozenLayersStayFrozen) {
  auto config = resumed_config("freeze_layers");
  config.schedule = make_schedule("freeze_layers:layers=2,from=0.1,until=0.3");
  expect_same_end(config);
}

TEST(Resume, SampledBlocksGoOnBitForBit) {
  auto config = resumed_config("vcas:norm=drop,weight_ratio=0.5");
  config.network = "resnet14";
  expect_same_end(config);
}

// Measured before the fifth of 42 steps, and after every fourth: before, at and behind checkpoints.
TEST(Resume, ControlledRatiosGoOnBitForBit) {
  auto config = resumed_config("vcas:tolerance=3,ratio=0.6,weight_ratio=0.7,every=4");
  config.network = "resnet14";
  config.schedule = {{}};
  expect_same_end(config);
}

// By default it leaves these small layers exact.
TEST(Resume, RoundingByChanceGoesOnBitForBit) {
  expect_same_end(resumed_config("int8:min_uses=0"));
}

class EveryMethod : public ::testing::TestWithParam<const MethodEntry*> {};

TEST_P(EveryMethod, GoesOnBitForBit) {
  for (size_t mode = 0; mode < std::max<size_t>(1, GetParam()->products_of_mode.size()); ++mode) {
    std::string text = GetParam()->name;
    for (const auto& spec : GetParam()->params) {
      if (spec.name == "mode") text += ":mode=" + spec.choices.at(mode);
    }
    SCOPED_TRACE(text);
    expect_same_end(resumed_config(text));
  }
}

INSTANTIATE_TEST_SUITE_P(Resume, EveryMethod,
                         ::testing::ValuesIn(Registry<MethodEntry>::instance().all()),
                         [](const auto& info) { return info.param->name; });

TEST(Resume, AThresholdOfTheStepBeforeGoesOnBitForBit) {
  expect_same_end(resumed_config("stochastic_pruning:placement=output,statistics=previous"));
}

TEST(Resume, EveryUpdateRuleGoesOnBitForBit) {
  const std::vector<std::pair<std::string, Json>> recipes = {
      {"adam", {{"optimizer", "adam"}, {"learning_rate", 0.01}, {"weight_decay", 1e-3}}},
      {"nesterov", {{"nesterov", true}, {"weight_decay", 1e-3}, {"decay_norm", false}}},
      {"no momentum", {{"momentum", 0.0}, {"clip_norm", 0.5}}},
      {"per step",
       {{"weight_decay", 1e-3},
        {"decay_form", "per_step"},
        {"norm_bias_rate", 8.0},
        {"lr_schedule", "points"},
        {"rate_points", "0:0.2,0.5:1,1:0"}}},
      {"averaged", {{"ema", 0.9}}},
      {"ghost batches", {{"ghost_batch", 6}}},
      {"looking ahead", {{"lookahead_every", 3}, {"lookahead_decay", 0.9}}},
      {"augmented", {{"crop_padding", 1}, {"flip", true}, {"cutout", 2}}},
      {"alternating", {{"flip", true}, {"flip_order", "alternating"}}}};
  for (const auto& [what, recipe] : recipes) {
    SCOPED_TRACE(what);
    auto config = resumed_config("zero");
    from_json(recipe, config.recipe);
    expect_same_end(config);
  }
}

// Stopped before and behind the end of the first epoch, which has 14 steps.
TEST(Resume, ABiasThatStoppedTrainingGoesOnBitForBit) {
  auto config = resumed_config("dense");
  config.network = "mnist_cnn:dropout=0";
  config.recipe.first_bias_epochs = 1;
  expect_same_end(config);
}

TEST(Resume, AScheduleThatWaitsForAPlateauGoesOn) {
  auto config = resumed_config("zero");
  config.schedule[0].until = "plateau:patience=1,delta=1";
  expect_same_end(config);
}

TEST(Resume, Bf16GoesOnBitForBit) {
  auto config = resumed_config("topk_position");
  config.precision = Precision::kBf16;
  expect_same_end(config);
}

TEST(Resume, DropoutGoesOnBitForBit) {
  auto config = resumed_config("dense");
  config.network = "mnist_mlp:hidden=20,dropout=0.5";
  expect_same_end(config);
}

// LibTorch's generator is saved with the rest: what draws from it draws the same again.
TEST(Resume, TheGlobalGeneratorGoesOn) {
  Session session(resumed_config("dense"), dataset());
  session.step();
  const auto checkpoint = session.save();
  const auto wanted = at::randn({5});
  at::randn({100});
  session.restore(checkpoint);
  EXPECT_TRUE(at::equal(at::randn({5}), wanted));
}

TEST(Resume, ACheckpointOfAnotherNetworkIsRefused) {
  Session session(resumed_config("dense"), dataset());
  auto config = resumed_config("dense");
  config.network = "small_cnn:width=8";
  Session wider(config, dataset());
  EXPECT_THROW(wider.restore(session.save()), Error);
  EXPECT_THROW(wider.restore(Checkpoint{}), Error);
}

class ResumeFolder {
 public:
  ResumeFolder() {
    std::string path = (fs::temp_directory_path() / "resume_XXXXXX").string();
    EXPECT_NE(mkdtemp(path.data()), nullptr);
    path_ = path;
  }
  ~ResumeFolder() { fs::remove_all(path_); }
  std::string path() const { return path_ + "/run.checkpoint"; }

 private:
  std::string path_;
};

// The events of a run that is asked to stop after so many metrics of this call, 0: never.
std::vector<Json> events_through(const RunConfig& config, const Checkpoints& checkpoints,
                                 int64_t stop_after_metrics = 0) {
  std::vector<Json> events;
  std::atomic<bool> stop = false;
  int64_t metrics = 0;
  run_accuracy(
      config, dataset(), checkpoints,
      [&](const Json& event) {
        events.push_back(event);
        metrics += event["event"] == "metric";
        if (stop_after_metrics > 0 && metrics == stop_after_metrics) stop = true;
      },
      stop);
  return events;
}

// What must be equal however often a run was interrupted.
Json essence(const std::vector<Json>& events) {
  Json kept = Json::array();
  for (Json event : events) {
    const std::string kind = event["event"];
    if (kind == "progress" || kind == "note") continue;
    if (kind == "metric" && event["name"] == "energy") continue;  // as little the same as time is
    if (kind == "final") {
      event = {
          {"state", event["state"]}, {"steps", event["steps"]}, {"timed", event["step_ns"].size()}};
    }
    event.erase("train_ns");
    kept.push_back(event);
  }
  return kept;
}

// One rank, which the others leave in the middle of a checkpoint: they are asked for what each has.
class LeftAtGather final : public Collectives {
 public:
  LeftAtGather() : Collectives({.rank = 0, .size = 1}) {}
  void close() override {}
  Json description() const override { return {{"library", "none"}}; }

 private:
  struct Done final : Pending {
    void wait() override {}
  };
  std::unique_ptr<Pending> do_start_sums(std::vector<Sum>) override {
    return std::make_unique<Done>();
  }
  std::unique_ptr<Pending> do_start_gather(const at::Tensor& own, const at::Tensor& all) override {
    if (own.is_floating_point()) throw LostRank("rank 1 did not come");
    all[0].copy_(own);
    return std::make_unique<Done>();
  }
  void do_broadcast(const at::Tensor&) override {}
};

TEST(Resume, ARankThatIsLostInACheckpointEndsTheRun) {
  const ResumeFolder folder;
  const std::atomic<bool> stop = false;
  std::vector<std::string> notes;
  const auto sink = [&](const Json& event) {
    if (event["event"] == "note") notes.push_back(event["message"]);
  };
  EXPECT_THROW(
      run_accuracy(resumed_config("msbp"), dataset(), {.folder = folder.path(), .every_epochs = 1},
                   sink, stop, {}, std::make_shared<LeftAtGather>()),
      LostRank);
  EXPECT_TRUE(notes.empty()) << notes.front();
}

TEST(Resume, AnInterruptedRunReportsWhatAStraightOneReports) {
  const auto config = resumed_config("sdgp:n=1,m=2");
  const auto straight = events_through(config, {});
  EXPECT_EQ(straight.back()["segments"], 1);
  EXPECT_FALSE(straight.back().contains("taint"));
  const ResumeFolder folder;
  const Checkpoints checkpoints{.folder = folder.path()};
  const auto first = events_through(config, checkpoints, 1);
  EXPECT_EQ(first.back()["state"], "interrupted");
  // Its one metric of before is reported again, and one more.
  const auto second = events_through(config, checkpoints, 12);
  ASSERT_EQ(second.back()["state"], "interrupted");
  EXPECT_GT(second.back()["steps"], first.back()["steps"]);
  const auto third = events_through(config, checkpoints);
  EXPECT_EQ(third.back()["segments"], 3);
  EXPECT_EQ(third.back()["taint"].size(), 1u);
  EXPECT_GT(third.back()["wall_ns"].get<int64_t>(), second.back()["wall_ns"].get<int64_t>());
  EXPECT_EQ(essence(third), essence(straight));
}

// The steps are those of a longer training; after the last one comes an evaluation.
TEST(Resume, ATrainingMayEndWithinAnEpoch) {
  auto config = resumed_config("dense");  // three epochs of 14 steps
  config.recipe.eval_every = 2;
  const auto whole = events_through(config, {});
  config.recipe.last_epoch = 0.5;
  const auto part = events_through(config, {});
  EXPECT_EQ(whole.back()["steps"], 42);
  EXPECT_EQ(part.back()["steps"], 35);
  EXPECT_EQ(part.front()["total_steps"], 35);
  const auto accuracies = [](const std::vector<Json>& events) {
    std::vector<std::pair<int64_t, double>> found;
    for (const auto& event : events) {
      if (event["event"] != "metric" || event["name"] != "accuracy" || event["split"] != "test")
        continue;
      EXPECT_DOUBLE_EQ(event["epoch"].get<double>(), event["step"].get<double>() / 14);
      found.emplace_back(event["step"], event["value"]);
    }
    return found;
  };
  const auto of_whole = accuracies(whole), of_part = accuracies(part);
  ASSERT_EQ(of_whole.size(), 2u);
  ASSERT_EQ(of_part.size(), 2u);
  EXPECT_EQ(of_part[0], of_whole[0]) << "a constant learning rate";
  EXPECT_EQ(of_part[1].first, 35);
  // And it goes on from a checkpoint to the same end.
  const ResumeFolder folder;
  const Checkpoints checkpoints{.folder = folder.path()};
  events_through(config, checkpoints, 4);
  EXPECT_EQ(essence(events_through(config, checkpoints)), essence(part));
}

TEST(Resume, TheTimeOfAllProcessesIsMadeUpOfItsParts) {
  const auto config = resumed_config("dense");
  const ResumeFolder folder;
  const Checkpoints checkpoints{.folder = folder.path(), .every_ns = 1};  // after every step
  const auto first = events_through(config, checkpoints, 4);
  ASSERT_EQ(first.back()["state"], "interrupted");
  expect_parts_make_up(first.back());
  const auto second = events_through(config, checkpoints);
  EXPECT_EQ(second.back()["segments"], 2);
  expect_parts_make_up(second.back());
  EXPECT_GT(second.back()["start_ns"], first.back()["start_ns"]);
}

// A program before the parts were kept saved what they are together.
TEST(Resume, ACheckpointWithoutAllPartsGoesOn) {
  const auto config = resumed_config("dense");
  const ResumeFolder folder;
  const Checkpoints checkpoints{.folder = folder.path()};
  ASSERT_EQ(events_through(config, checkpoints, 4).back()["state"], "interrupted");
  auto saved = load_checkpoint(checkpoints.folder, [](const std::string&) {});
  ASSERT_TRUE(saved);
  for (const char* key : {"start_ns", "aside_ns"}) saved->state["record"].erase(key);
  save_checkpoint(checkpoints.folder, *saved);
  const auto resumed = events_through(config, checkpoints);
  EXPECT_EQ(resumed.back()["segments"], 2);
  expect_parts_make_up(resumed.back());
}

// The processes before it have seen the best evaluation.
TEST(Resume, APatienceGoesOnWhereItWas) {
  auto config = resumed_config("dense");  // epochs of 14 steps
  config.recipe.epochs = 9;
  config.recipe.learning_rate = 1e-9;
  config.patience = 4;
  const auto straight = events_through(config, {});
  EXPECT_EQ(straight.back()["ended_by"], "patience");
  const int64_t end = straight.back()["steps"];
  ASSERT_LT(end, 9 * 14);
  int64_t metrics = 0;
  for (const auto& event : straight) metrics += event["event"] == "metric";
  // Stopped in each epoch, one process after the other and all but the last with a checkpoint.
  const ResumeFolder folder;
  const Checkpoints checkpoints{.folder = folder.path()};
  for (int64_t after = metrics / 5; after < metrics - metrics / 5; after += metrics / 5) {
    EXPECT_EQ(events_through(config, checkpoints, after).back()["state"], "interrupted");
  }
  const auto resumed = events_through(config, checkpoints);
  EXPECT_GT(resumed.back()["segments"], 2);
  EXPECT_EQ(resumed.back()["ended_by"], "patience");
  EXPECT_EQ(essence(resumed), essence(straight));
}

TEST(Resume, CheckpointsComeByEpochOrByTime) {
  const auto config = resumed_config("dense");
  const auto steps_of = [&](const Checkpoints& checkpoints) {
    events_through(config, checkpoints);
    std::vector<int64_t> steps;
    for (const char* name : {"checkpoint.previous", "checkpoint"}) {
      std::ifstream in(checkpoints.folder + "/" + name, std::ios::binary);
      if (!in) continue;
      const std::string bytes{std::istreambuf_iterator<char>(in), {}};
      steps.push_back(decode(bytes).state["step"].get<int64_t>());
    }
    return steps;
  };
  const ResumeFolder never, epochs, time;
  EXPECT_EQ(steps_of({.folder = never.path()}), (std::vector<int64_t>{}));
  // 14 steps an epoch; none at the end of the run.
  EXPECT_EQ(steps_of({.folder = epochs.path(), .every_epochs = 1}), (std::vector<int64_t>{14, 28}));
  EXPECT_EQ(steps_of({.folder = time.path(), .every_ns = 1}), (std::vector<int64_t>{40, 41}));
}

// On a GPU none is taken that does not say so; here one from before is.
TEST(Resume, ACheckpointSaysWhatItsClockIs) {
  const auto config = resumed_config("dense");
  const ResumeFolder folder;
  const Checkpoints checkpoints{.folder = folder.path()};
  events_through(config, checkpoints, 1);
  auto saved = load_checkpoint(folder.path(), [](const std::string&) {});
  ASSERT_TRUE(saved.has_value());
  EXPECT_EQ(saved->state.value("device_time", ""), "whole");
  auto on_gpu = config;
  on_gpu.device = DeviceKind::kCuda;
  saved->state["config"] = on_gpu;
  EXPECT_NO_THROW(require_own(*saved, on_gpu));
  saved->state["config"] = config;
  saved->state.erase("device_time");
  save_checkpoint(folder.path(), *saved);
  EXPECT_EQ(events_through(config, checkpoints).back()["segments"], 2);
}

TEST(Resume, ACheckpointThatDoesNotFitIsSaidAndLeft) {
  const auto config = resumed_config("zero");
  const auto straight = events_through(config, {});
  const ResumeFolder folder;
  auto other = config;
  other.recipe.learning_rate = 0.01;
  events_through(other, {.folder = folder.path()}, 1);
  const auto events = events_through(config, {.folder = folder.path()});
  EXPECT_EQ(essence(events), essence(straight));
  EXPECT_EQ(events.front()["event"], "note");
  EXPECT_EQ(events.back()["segments"], 1);
}

TEST(Resume, ARunWithoutRoomForItsCheckpointSaysSoAndEnds) {
  const ResumeFolder folder;
  const std::string blocked = folder.path() + "/below";
  fs::create_directories(fs::path(folder.path()).parent_path());
  std::ofstream(folder.path()) << "a file in the way";
  const auto events =
      events_through(resumed_config("dense"), {.folder = blocked, .every_epochs = 1});
  int64_t notes = 0;
  for (const auto& event : events) notes += event["event"] == "note";
  EXPECT_EQ(notes, 2);
  EXPECT_EQ(events.back()["state"], "finished");
}

}  // namespace
}  // namespace approx
