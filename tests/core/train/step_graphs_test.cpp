// Captured steps, as far as a machine without a GPU can tell: which rows of a schedule are
// captured, that a captured step trains as one that is not, and that whatever a graph would repeat
// of a step is in every step of its row. Those named Cuda (tests/core/cuda_graphs_test.cpp) say the
// rest.
#include "core/train/step_graphs.h"

#include <map>
#include <set>

#include "core/config/named_schedule.h"
#include "core/networks/network.h"
#include "core/train/operand_probe.h"
#include "core/train/run_events.h"
#include "core/train/scheduled_layers.h"
#include "core/train/session.h"
#include "kernels/draws.h"
#include "kernels/plan_traits.h"
#include "kernels/select/select.h"
#include "kernels/variant.h"
#include "tests/core/train/capturable.h"
#include "tests/core/train/operators.h"
#include "tests/core/train/repeating_recorder.h"
#include "tests/core/train/same_training.h"
#include "tests/core/train/toy_run.h"
#include "tests/reference.h"
#include "tests/testing.h"

namespace approx {
namespace {

// Records nothing but what is called.
class Calls final : public StepRecorder {
 public:
  explicit Calls(std::vector<std::string>& log) : log_(log) {}

  std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
    struct Replay final : RecordedStep {
      Replay(std::vector<std::string>& to, std::string which) : log(to), name(std::move(which)) {}
      void replay() override { log.push_back("replay " + name); }
      std::vector<std::string>& log;
      std::string name;
    };
    log_.emplace_back("record");
    step();
    return std::make_unique<Replay>(log_, log_.back());
  }

 private:
  std::vector<std::string>& log_;
};

TEST(StepGraphs, EachRowIsDoneTwiceThenCapturedThenReplayed) {
  std::vector<std::string> log;
  StepGraphs graphs(std::make_unique<Calls>(log), at::kCPU, {});
  const StepRow a{{0, -1}, {8, 3}}, b{{-1, 0}, {8, 3}}, larger{{0, -1}, {8, 4}};
  const auto step = [&](const StepRow& row, const char* name, const char* why_not = "") {
    graphs.run(row, why_not, [&log, name] { log.emplace_back(name); });
  };
  for (int i = 0; i < 4; ++i) {
    step(a, "a");
    if (i < 3) step(b, "b");
  }
  step(larger, "larger");
  step(a, "a apart", "it is looked at");
  step(a, "a");
  EXPECT_EQ(log,
            (std::vector<std::string>{"a", "b", "a", "b", "record", "a", "replay a", "record", "b",
                                      "replay b", "replay a", "larger", "a apart", "replay a"}));
  const auto report = graphs.report();
  EXPECT_EQ(report.rows, 3);
  EXPECT_EQ(report.graphs, 2);
  EXPECT_EQ(report.steps, (std::map<std::string, int64_t>{
                              {"before capture", 5}, {"it is looked at", 1}, {"replayed", 4}}));
  graphs.forget();
  log.clear();
  step(a, "a");
  EXPECT_EQ(log, std::vector<std::string>{"a"}) << "what was captured is gone";
}

TEST(StepGraphs, CountsGrowByReplaysAsByTheCapturedStep) {
  int64_t whole = 5, other = 7;
  double real = 0.5;
  std::vector<std::string> log;
  StepGraphs graphs(std::make_unique<Calls>(log), at::kCPU, {{&whole, &other}, {&real}});
  const auto step = [&] {
    ++whole;
    real += 0.25;
    log.emplace_back("step");
  };
  for (int i = 0; i < 6; ++i) {
    graphs.run({}, "", step);
    EXPECT_EQ(whole, 6 + i);
    EXPECT_EQ(real, 0.75 + 0.25 * i);
  }
  EXPECT_EQ(other, 7);
}

TEST(StepGraphs, ARowThatCannotBeCapturedIsDoneWithout) {
  class Fails final : public StepRecorder {
    std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
      step();
      throw std::runtime_error("not while a stream is captured\nand more");
    }
  };
  int64_t count = 0, calls = 0;
  const auto step = [&] { ++count, ++calls; };
  StepGraphs graphs(std::make_unique<Fails>(), at::kCPU, {{&count}, {}});
  for (int i = 0; i < 5; ++i) graphs.run({}, "", step);
  EXPECT_EQ(count, 5);
  EXPECT_EQ(calls, 6) << "tried once";
  EXPECT_EQ(
      graphs.report().steps,
      (std::map<std::string, int64_t>{
          {"before capture", 2}, {"could not be captured: not while a stream is captured", 3}}));

  StepGraphs must(std::make_unique<Fails>(), at::kCPU, {{&count}, {}}, /*must=*/true);
  for (int i = 0; i < 2; ++i) must.run({}, "", step);
  try {
    must.run({}, "", step);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_STREQ(error.what(),
                 "graphs = on: a step could not be captured: not while a stream is captured");
  }
}

// A graph in which ranks exchange something is one of all, or of none.
TEST(StepGraphs, ARowIsCapturedByAllRanksOrByNone) {
  std::vector<std::string> log;
  std::vector<bool> said;
  bool others = false;
  const auto all_have = [&](bool own) {
    said.push_back(own);
    return own && others;
  };
  int64_t count = 0;
  StepGraphs graphs(std::make_unique<Calls>(log), at::kCPU, {{&count}, {}}, /*must=*/false,
                    all_have);
  const auto step = [&](const StepRow& row) {
    graphs.run(row, "", [&] {
      ++count;
      log.emplace_back("step");
    });
  };
  for (int i = 0; i < 5; ++i) step({{0}, {}});
  EXPECT_EQ(said, std::vector<bool>{true}) << "asked once a row";
  EXPECT_EQ(count, 5);
  EXPECT_EQ(log,
            (std::vector<std::string>{"step", "step", "record", "step", "step", "step", "step"}));
  EXPECT_EQ(graphs.report().steps.at("could not be captured: another rank could not"), 3);
  EXPECT_EQ(graphs.report().graphs, 0);
  others = true;
  for (int i = 0; i < 4; ++i) step({{1}, {}});
  EXPECT_EQ(graphs.report().graphs, 1);
  EXPECT_EQ(graphs.report().steps.at("replayed"), 2);
  EXPECT_EQ(count, 9);
}

// Where a schedule tells ranks apart, what is exchanged follows from the decisions for all.
TEST(StepGraphs, RanksMeetTheSameRowsInTheSameOrder) {
  const NetworkInput input{3, 32, 10};
  const auto network = make_network("small_cnn", input, 1);
  const auto infos = layer_infos(*network, input);
  // Rank 0 does the same in steps 1 and 2, in which rank 1 does not.
  const std::vector<Rule> rules = {{.layers = "2", .steps = "::3", .ranks = "0"},
                                   {.layers = "2", .steps = "::2", .ranks = "1"}};
  std::vector<std::vector<size_t>> of_ranks;
  for (const int64_t rank : {0, 1, 2}) {
    ScheduledLayers layers(network->layers(),
                           Schedule(rules, infos, "zero", library_methods(), 10, 100, 3), 1,
                           World{.rank = rank, .size = 3});
    std::map<std::vector<int>, size_t> rows;
    auto& seen = of_ranks.emplace_back();
    for (int64_t step = 0; step < 12; ++step) {
      layers.begin_step(step);
      seen.push_back(rows.try_emplace(layers.row(), rows.size()).first->second);
    }
    EXPECT_EQ(rows.size(), 4u);
  }
  EXPECT_EQ(of_ranks[0], of_ranks[1]);
  EXPECT_EQ(of_ranks[0], of_ranks[2]);
}

TEST(StepGraphs, AMethodOfAnotherRankThatWaitsKeepsAllFromCapturing) {
  const NetworkInput input{3, 32, 10};
  const auto network = make_network("small_cnn", input, 1);
  const auto infos = layer_infos(*network, input);
  const std::vector<Rule> rules = {{.layers = "2", .steps = "::2", .method = "crs", .ranks = "1"}};
  for (const int64_t rank : {0, 1}) {
    ScheduledLayers layers(network->layers(),
                           Schedule(rules, infos, "zero", library_methods(), 10, 100, 2), 1,
                           World{.rank = rank, .size = 2});
    layers.begin_step(0);
    EXPECT_NE(layers.waits_for(), "") << "rank " << rank;
    layers.begin_step(1);
    EXPECT_EQ(layers.waits_for(), "") << "rank " << rank;
  }
}

TEST(StepGraphs, AScheduleThatNeverRepeatsItselfIsNotCapturedForEver) {
  std::vector<std::string> log;
  StepGraphs graphs(std::make_unique<Calls>(log), at::kCPU, {});
  for (int round = 0; round < 4; ++round) {
    for (int row = 0; row < 70; ++row) graphs.run({{row}, {}}, "", [&] { log.emplace_back("x"); });
  }
  const auto report = graphs.report();
  EXPECT_EQ(report.graphs, StepGraphs::kMostGraphs);
  EXPECT_EQ(report.steps.at("replayed"), 2 * StepGraphs::kMostGraphs);
  EXPECT_EQ(report.steps.at("64 other rows are captured, which is the most"),
            2 * (70 - StepGraphs::kMostGraphs));
}

TEST(StepGraphs, WhatChangesFromStepToStepHasItsPlace) {
  std::vector<std::string> log;
  StepGraphs graphs(std::make_unique<Calls>(log), at::kCPU, {});
  const auto* step = graphs.step_at();
  const auto* rate = graphs.learning_rate().const_data_ptr();
  const Batch first{at::randn({4, 3, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast),
                    at::tensor({1, 0, 1, 1})};
  const auto place = graphs.placed(first);
  for (const int64_t number : {3, 4}) {
    graphs.begin_step(number, 0.1 / static_cast<double>(number));
    EXPECT_EQ(graphs.step_at(), step);
    EXPECT_EQ(*step, static_cast<uint64_t>(number));
    EXPECT_EQ(graphs.learning_rate().const_data_ptr(), rate);
    EXPECT_EQ(graphs.learning_rate().item<double>(), 0.1 / static_cast<double>(number));
    const Batch next{first.x + static_cast<double>(number), first.labels * number};
    const auto placed = graphs.placed(next);
    EXPECT_EQ(placed.x.const_data_ptr(), place.x.const_data_ptr());
    EXPECT_EQ(placed.labels.const_data_ptr(), place.labels.const_data_ptr());
    EXPECT_TRUE(at::equal(placed.x, next.x) && at::equal(placed.labels, next.labels));
    EXPECT_EQ(placed.x.strides(), first.x.strides());
  }
  const Batch larger{at::randn({4, 3, 6, 6}), first.labels};
  EXPECT_NE(graphs.placed(larger).x.const_data_ptr(), place.x.const_data_ptr());
}

// Of every named schedule, and of phases: steps for which it decides the same share a graph, and no
// others do.
TEST(StepGraphs, ARowOfAScheduleIsAGraph) {
  std::map<std::string, int64_t> rows = {
      {"wang2019_s1", 1},
      {"wang2019_s2", 2},
      {"wang2019_s3", 2},
      {"wang2019_cnn2", 2},
      {"layer_drop_back", 0},
      {"random_steps", 64},
      {"freeze_layers", 3},
      {"slice", 1},
      {"slice:steps=::4", 2},
      {"slice:layers=2::4,until=0.5dur", 2},  // from then on exact
      {"slice:layers=2::2,steps=::2,from=3ep,until=0.8dur", 2},
      {"slice:layers=2,steps=1::3,from=10ba,products=weight_gradient", 2}};
  for (const auto* entry : Registry<ScheduleEntry>::instance().all()) {
    EXPECT_TRUE(rows.contains(entry->name)) << entry->name << ": how many rows has it?";
  }
  const NetworkInput input{3, 32, 10};
  const auto network = make_network("resnet20", input, 1);
  const auto infos = layer_infos(*network, input);
  for (const auto& [text, count] : rows) {
    SCOPED_TRACE(text);
    if (count == 0) continue;  // 64 that are drawn in some epochs, and an exact one: too many
    const auto make = [&, &text = text] {
      return Schedule(make_schedule(text), infos, "zero", library_methods(), 10, 100);
    };
    const auto schedule = make();
    ScheduledLayers layers(network->layers(), make(), 1);
    std::vector<std::string> log;
    StepGraphs graphs(std::make_unique<Calls>(log), at::kCPU, layers.host_counts());
    std::map<std::string, int64_t> seen;  // decisions: steps
    // Each row is captured at its third step.
    const int64_t steps = std::max<int64_t>(100, 3 * count);
    for (int64_t step = 0; step < steps; ++step) {
      layers.begin_step(step);
      std::string decided;
      for (size_t i = 0; i < infos.size(); ++i) {
        for (const int method : schedule.at(i, step).method) decided += fmt::format("{} ", method);
      }
      log.clear();
      graphs.run({layers.row(), {}}, layers.waits_for(), [&] { log.push_back(decided); });
      const auto done = ++seen[decided];
      const auto replay = "replay " + decided;
      const std::vector<std::string> expected =
          done <= StepGraphs::kStepsBefore ? std::vector{decided}
          : done == StepGraphs::kStepsBefore + 1
              ? std::vector{std::string("record"), decided, replay}
              : std::vector{replay};
      EXPECT_EQ(log, expected) << "step " << step;
    }
    EXPECT_EQ(graphs.report().rows, count);
    EXPECT_EQ(graphs.report().graphs, count);
    EXPECT_EQ(static_cast<int64_t>(seen.size()), count);
  }
}

RunConfig captured_run(const std::string& method, UpdateRule optimizer) {
  auto config = toy_run(method, "slice:layers=2,steps=::2", 1);
  config.recipe.optimizer = optimizer;
  config.recipe.learning_rate = optimizer == UpdateRule::kAdam ? 0.003 : 0.05;
  config.recipe.lr_schedule = RateSchedule::kCosine;  // another rate in every step
  config.recipe.momentum = 0.9;
  config.recipe.crop_padding = 1;
  config.recipe.flip = true;
  config.recipe.clip_norm = 1;
  config.recipe.ema = 0.9;
  config.recipe.norm_bias_rate = 4;
  return config;
}

// (What the update rules of the CPU do inside is no part of a trace.)
void expect_no_waits(const std::vector<std::string>& calls) {
  for (const auto& call : calls) EXPECT_FALSE(Operators::is_wait(call)) << call;
}

class CapturedStep : public ::testing::TestWithParam<std::string> {};

TEST_P(CapturedStep, TrainsAsAnyAndRepeatsItself) {
  const auto dataset = toy_dataset();
  const auto waits = std::string(make_method(GetParam())->waits_for());
  // Either rule once.
  for (const auto optimizer : all_of_enum<UpdateRule>()) {
    if (optimizer == UpdateRule::kAdam && GetParam() != "stochastic_pruning") continue;
    const auto config = captured_run(GetParam(), optimizer);
    Session plain(config, dataset), captured(config, dataset);
    Repetitions seen;
    captured.capture_steps(std::make_unique<RepeatingRecorder>(seen));
    train_both(plain, captured, 9);
    expect_same(plain, captured);
    EXPECT_TRUE(seen.differences.empty())
        << seen.differences.size() << ", the first: " << seen.differences[0];
    expect_no_waits(seen.calls);
    const auto report = captured.graph_report();
    ASSERT_TRUE(report.has_value());
    EXPECT_EQ(report->rows, 2);
    if (waits.empty()) {
      EXPECT_GT(seen.calls.size(), 50u) << "the operators were not recorded";
      EXPECT_EQ(seen.recorded, 2);
      EXPECT_EQ(report->steps,
                (std::map<std::string, int64_t>{{"before capture", 4}, {"replayed", 5}}));
    } else {
      EXPECT_EQ(seen.recorded, 1) << "the exact row";
      const auto method = library_methods().method_params(GetParam()).full_text();
      EXPECT_EQ(report->steps.at(fmt::format("{} waits for {}", method, waits)), 5);
    }
  }
}

// Batch norms with what follows them, of whole batches, whose dY has a visitor, and of parts.
TEST(StepGraphs, AResidualNetworkTrainsAsAnyAndRepeatsItself) {
  const auto dataset = toy_dataset();
  auto config = captured_run("stochastic_pruning", UpdateRule::kSgd);
  config.network = "resnet14";
  config.batch_size = 8;
  for (const int64_t ghost_batch : {0, 3}) {
    SCOPED_TRACE(ghost_batch);
    config.recipe.ghost_batch = ghost_batch;
    Session plain(config, dataset), captured(config, dataset);
    Repetitions seen;
    captured.capture_steps(std::make_unique<RepeatingRecorder>(seen));
    train_both(plain, captured, 7);
    expect_same(plain, captured);
    EXPECT_EQ(seen.recorded, 2);
    expect_no_waits(seen.calls);
    EXPECT_TRUE(seen.differences.empty()) << seen.differences[0];
  }
}

// What is outside of captured steps, and a bias that no longer trains from the second epoch on: a
// row of its own. 14 steps an epoch.
TEST(StepGraphs, ARecipeOfTheSpeedRecordsTrainsAsAnyAndRepeatsItself) {
  const auto dataset = toy_dataset();
  auto config = toy_run("dense", "", 2);
  config.network = "mnist_cnn:dropout=0";
  from_json({{"learning_rate", 0.02},
             {"nesterov", true},
             {"weight_decay", 0.002},
             {"decay_form", "per_step"},
             {"norm_bias_rate", 64.0},
             {"lr_schedule", "points"},
             {"rate_points", "0:0.2,0.23:1,1:0.07"},
             {"crop_padding", 2},
             {"padding_mode", "reflect"},
             {"flip", true},
             {"flip_order", "alternating"},
             {"lookahead_every", 5},
             {"label_smoothing", 0.2},
             {"first_bias_epochs", 1}},
            config.recipe);
  Session plain(config, dataset), captured(config, dataset);
  Repetitions seen;
  captured.capture_steps(std::make_unique<RepeatingRecorder>(seen));
  train_both(plain, captured, plain.total_steps());
  expect_same(plain, captured);
  expect_no_waits(seen.calls);
  EXPECT_TRUE(seen.differences.empty()) << seen.differences[0];
  EXPECT_EQ(seen.recorded, 2);
  EXPECT_EQ(captured.graph_report()->rows, 2);
}

INSTANTIATE_TEST_SUITE_P(Every, CapturedStep, ::testing::ValuesIn(method_texts()),
                         [](const auto& info) { return test_name(info.param); });

TEST(StepGraphs, ARunSaysHowItsStepsWereDone) {
  const auto dataset = toy_dataset();
  Session session(toy_run("crs", "slice:layers=2,steps=::2", 1), dataset);
  std::map<std::string, double> said;
  const auto ask = [&] {
    report_graphs(session, "train", [&](const char* name, const std::string& split, double value) {
      said[fmt::format("{} {}", name, split)] = value;
    });
  };
  ask();
  EXPECT_TRUE(said.empty()) << "a CPU has no graphs";
  Repetitions seen;
  session.capture_steps(std::make_unique<RepeatingRecorder>(seen));
  for (int step = 0; step < 6; ++step) session.step();
  session.step_counting_gradients();
  OperandProbe probe;
  session.step(&probe);
  EXPECT_FALSE(probe.take().empty());
  ask();
  const auto crs = library_methods().method_params("crs").full_text();
  EXPECT_EQ(
      said,
      (std::map<std::string, double>{
          {"graph_rows train", 2},
          {"graphs train", 1},
          {"graph_steps train: before capture", 2},
          {"graph_steps train: replayed", 1},
          {"graph_steps train: its gradients are counted", 1},
          {"graph_steps train: its operands are recorded", 1},
          {fmt::format("graph_steps train: {} waits for how many pairs its draws take", crs), 3}}));
}

// What a method declares is what it does: where it waits for nothing, no operator of it reads a
// value or has a shape that depends on one.
TEST(Capturable, WhatAMethodDeclaresIsWhatItDoes) {
  const auto dataset = toy_dataset();
  for (const auto& text : method_texts()) {
    const bool declared = !make_method(text)->waits_for().empty();
    Session session(toy_run(text, "slice:layers=2", 1), dataset);
    session.step();
    const Operators operators;
    session.step();
    EXPECT_EQ(!Operators::waits().empty(), declared) << text;
  }
}

// The observers see what they are there for.
TEST(Capturable, WhatAGraphWouldGetWrongIsSeen) {
  const auto kept = at::ones({3});
  int64_t number = 0;
  Repetitions seen;
  const auto differences = [&](const std::function<void()>& step) {
    seen = {};
    const auto recorded = RepeatingRecorder(seen).record(step);
    for (int i = 0; i < 3; ++i) recorded->replay();
    return seen.differences.size();
  };
  EXPECT_EQ(differences([&] { (kept * 2).add_(1); }), 0u);
  EXPECT_EQ(differences([&] { kept.mul(static_cast<double>(++number)); }), 2u) << "a scalar";
  EXPECT_EQ(differences([&] { at::zeros({++number}); }), 2u) << "a size";
  number = 0;
  EXPECT_EQ(differences([&] { ++number == 1 ? kept.mul(2) : kept.add(2); }), 2u)
      << "another operator";
  std::vector<at::Tensor> places;
  for (int i = 0; i < 3; ++i) places.push_back(at::ones({3}));
  number = 0;
  EXPECT_EQ(differences([&] { places[static_cast<size_t>(number++)].add_(1); }), 2u)
      << "an address";
}

// A GPU takes other paths than the CPU's loops: by operations on tensors, which run here too.
TEST(Capturable, OperationsOnTensorsInPlaceOfLoopsWaitForNothing) {
  uint64_t step = 5;
  const Rng rng{.seed = 3, .step_at = &step};
  const auto dy = at::randn({4, 8, 5, 5}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto tau = at::full({}, 0.5F);
  const Operators operators;
  for (const bool random : {false, true}) {
    for (const auto rescaling : {Rescaling::kNone, Rescaling::kGroup, Rescaling::kPlane}) {
      nm_pruned(dy, {.n = 2, .m = 4, .random = random, .rescaling = rescaling}, rng,
                Choosing::kTensors);
    }
  }
  stochastic_pruned(dy, tau, rng, Choosing::kTensors);
  largest(at::rand({9}), 4, Choosing::kTensors);
  slice_norms(dy, 0, Choosing::kTensors);
  slice_norms(dy, 1, Choosing::kTensors);
  random_words(rng, 7, at::kCPU);
  EXPECT_GT(Operators::calls().size(), 50u);
  EXPECT_TRUE(Operators::waits().empty()) << Operators::waits().front();
}

// Every variant that a GPU may take for a plan is computed there, by operators that wait for
// nothing; and none is chosen by a share that somebody would have to read.
TEST(Capturable, NoPlanOfAGpuIsComputedByAWaitingVariant) {
  std::set<std::string> checked;
  const auto check = [&]<typename Kind>(const Kind& plan, const Operands& operands) {
    Problem problem = problem_of(operands);
    problem.device = Hardware::kCuda;
    for (const auto& variant : Registry<Variant<Kind>>::instance().entries()) {
      if (!variant.worth(problem)) continue;
      const auto what = fmt::format("{} {}", PlanTraits<Kind>::kName, variant.name);
      checked.insert(what);
      ASSERT_TRUE(variant.tensors != nullptr || variant.floats.work.launch != nullptr) << what;
      if (variant.tensors == nullptr) continue;
      const Operators operators;
      variant.tensors(plan, operands);
      EXPECT_TRUE(Operators::waits().empty()) << what << ": " << Operators::waits().front();
    }
  };
  for (const auto& text : method_texts()) {
    const auto method = make_method(text);
    if (!method->waits_for().empty()) continue;
    for (const auto product : products_of(text)) {
      auto operands = random_operands({4, 8, 6, 8, 3, 1, 1});
      operands.product = product;
      const auto plan = plan_as_layer(*method, products_of(text), operands, Rng{}).plan;
      std::visit([&](const auto& kind) { check(kind, operands); }, plan);
    }
  }
  for (const char* expected :
       {"SparseDY densify", "PrunedDY exact", "StructuredDY masked", "Sampled gather",
        "Pooled pool", "Quantized rounded", "Gaussian tensors", "Dense libtorch"}) {
    EXPECT_TRUE(checked.contains(expected)) << expected;
  }
}

}  // namespace
}  // namespace approx
