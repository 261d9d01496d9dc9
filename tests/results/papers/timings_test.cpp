// Times, counts and traffic of an item's timings beside the paper's.
#include <gtest/gtest.h>

#include "results/render/verdict.h"
#include "tests/results/papers/paper_report_test.h"

namespace approx {
namespace {

TEST_F(PaperReport, ACountMayBeOfTheApproximatedLayersAlone) {
  auto experiment = item(1);
  ReportedValue whole, part;
  whole.quantity = part.quantity = PaperQuantity::kComputeReduction;
  part.definition = Definition("of the approximated layers");
  experiment.paper.values = {whole, part};
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  const auto layer = [](const char* name, const char* method, int64_t done) {
    return Json{{"event", "layer"},  {"layer", name},     {"product", "forward"},
                {"method", method},  {"calls", 1},        {"exact_calls", 0},
                {"macs_dense", 100}, {"macs_done", done}, {"density", nullptr}};
  };
  for (const auto& run : experiment.runs()) {
    if (run.method_label != "zero") continue;
    const auto id = store.begin(run.key, environment_of(), folder_ / "r");
    auto events = accuracy_events({0.5});
    events.insert(events.begin(), {layer("a", "dense", 100), layer("b", "zero", 40)});
    store.finish(*id, events, {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  std::vector<double> found;
  for (const auto& row : table.rows) {
    if (std::get<std::string>(row[2]) == "zero") found.push_back(std::get<double>(row[11]));
  }
  ASSERT_EQ(found.size(), 2u);
  EXPECT_NEAR(found[0], 30, 1e-9);
  EXPECT_NEAR(found[1], 60, 1e-9);
}

// 25 % of 800 bytes of one layer, all 200 of another and 24 beside them: 600 of 1024 are saved.
TEST_F(PaperReport, WhatRanksDidNotSendIsCountedOverAllThatTheySend) {
  auto experiment = item(2);
  for (auto& run : trainings_of(experiment)) {
    if (run.method_label != "dense") run = of_ranks(4, run);
  }
  ReportedValue value;
  value.quantity = PaperQuantity::kCommunicationReduction;
  value.unit = "%";
  value.basis = Basis::kCount;
  value.paper = {{{"0", 0.0}}, {{"58", 58.0}}, {{"48", 48.0}}};
  experiment.paper.values = {value};
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment, "sweep");
    for (const auto& run : experiment.runs()) {
      const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
      auto events = accuracy_events({0.5});
      if (run.method_label == "zero") {
        events.insert(events.begin(),
                      {traffic_event("a", 4, 200, 800), traffic_event("b", 4, 200, 200),
                       traffic_event("", 4, 24, 24)});
      }
      store.finish(*id, events, {});
    }
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "communication_reduction", "measured"), "58.594");
  EXPECT_EQ(at(table, "zero", "communication_reduction", "n"), "2");
  EXPECT_EQ(at(table, "zero", "communication_reduction", "verdict"),
            name(Verdict::kByConstruction));
  EXPECT_EQ(at(table, "dense", "communication_reduction", "verdict"), name(Verdict::kNotRun));
  EXPECT_EQ(at(table, "dense", "communication_reduction", "reason"),
            "its runs are of one rank, which sends nothing");
  EXPECT_EQ(at(table, "random", "communication_reduction", "reason"), "its runs did not record it");
}

// More ranks train than are timed, where a machine has cores for fewer: each value is of its own
// runs.
TEST_F(PaperReport, TrainingsAndTimingsMayBeOfOtherNumbersOfRanks) {
  auto experiment = item(2);
  for (auto& run : trainings_of(experiment)) run = of_ranks(8, run);
  for (int64_t seed = 0; seed < 5; ++seed) {
    trainings_of(experiment).push_back(planned("zero", seed, Purpose::kTiming));
  }
  ReportedValue speedup;
  speedup.quantity = PaperQuantity::kSpeedup;
  experiment.paper.values = {accuracy_value(), speedup};
  {
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment, "sweep");
    int64_t number = 0;
    for (const auto& run : experiment.runs()) {
      const auto id =
          store.begin(run.key, environment_of(), folder_ / fmt::format("r{}", ++number));
      const std::vector<Json> blocks = {
          block_event(0, "dense", 10, 200), block_event(0, "approx", 10, 100),
          block_event(1, "dense", 10, 200), block_event(1, "approx", 10, 100), final_event(1)};
      const bool timing = run.config.purpose == Purpose::kTiming;
      store.finish(*id, timing ? blocks : accuracy_events({0.5}), {});
    }
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "zero", "accuracy", "n"), "2");
  EXPECT_EQ(at(table, "zero", "accuracy", "reason"), "");
  EXPECT_EQ(at(table, "zero", "speedup", "n"), "5");
  EXPECT_EQ(at(table, "zero", "speedup", "reason"), "");
}

// How far the reference's own time lies from nothing saved is what noise looks like, in whatever
// unit.
TEST_F(PaperReport, TheReferenceOfATimeThatIsSavedIsMeasured) {
  auto experiment = item(1);
  for (auto& run : trainings_of(experiment)) run.config.purpose = Purpose::kTiming;
  experiment.paper.values[0].quantity = PaperQuantity::kTimeSaved;
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
    store.finish(*id,
                 {environment_of(), block_event(0, "dense", 10, 200),
                  block_event(0, "approx", 10, 160), final_event(1)},
                 {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "time_saved", "n"), "1");
  EXPECT_EQ(at(table, "dense", "time_saved", "measured"), "20.000");
  EXPECT_EQ(at(table, "dense", "time_saved", "verdict"), "") << "nothing to judge";
}

TEST_F(PaperReport, ATimingThatWasDisturbedSaysSo) {
  auto experiment = item(1);
  for (auto& run : trainings_of(experiment)) run.config.purpose = Purpose::kTiming;
  experiment.paper.values[0].quantity = PaperQuantity::kSpeedup;
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    if (run.method_label == "random") continue;
    const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
    const RunEnd end{.taint = run.method_label == "zero" ? std::vector<std::string>{"load"}
                                                         : std::vector<std::string>{}};
    store.finish(*id,
                 {environment_of(), block_event(0, "dense", 10, 200),
                  block_event(0, "approx", 10, 100), final_event(1)},
                 end);
    EXPECT_EQ(store.status(run.key).tainted, run.method_label == "zero");
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "speedup", "n"), "1");
  EXPECT_EQ(at(table, "zero", "speedup", "reason"), kTimingsDisturbed);
  EXPECT_EQ(at(table, "random", "speedup", "reason"), "no timing run in the store");
  EXPECT_EQ(
      at(report_paper(Snapshot::or_empty(path_), experiment, experiment, {.include_tainted = true}),
         "zero", "speedup", "measured"),
      "2.000");
}

// Steps twice as fast, and in two pairs backward passes 2 and 8 times: by the mean of the
// logarithms 4 times in one process.
TEST_F(PaperReport, TheBackwardPassIsAColumnOfItsOwn) {
  auto experiment = item(2);
  for (auto& run : trainings_of(experiment)) run.config.purpose = Purpose::kTiming;
  auto& values = experiment.paper.values;
  values[0].quantity = PaperQuantity::kSpeedup;
  values[0].paper.clear();
  values.push_back(values[0]);
  values[1].basis = Basis::kBackward;
  values[1].paper = {{{"", std::nullopt}}, {{"4×", 4.0}}};
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    const auto id = store.begin(run.key, environment_of(), folder_ / ("r" + run.key.substr(9)));
    std::vector<Json> events = {environment_of(), block_event(0, "dense", 10, 200),
                                block_event(0, "approx", 10, 100)};
    if (run.method_label == "zero") {
      for (const auto& [step, approx] : {std::pair(20, 40.0), std::pair(21, 10.0)}) {
        events.push_back(timing_metric("backward_ns", "dense", step, 80));
        events.push_back(timing_metric("backward_ns", "approx", step, approx));
      }
      events.push_back(timing_metric("backward_ns", "dense", 22, 80));  // alone: no pair
    }
    events.push_back(final_event(1));
    store.finish(*id, events, {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  const auto cell = [&](const std::string& method, const std::string& basis,
                        const std::string& column) -> std::string {
    Table part = table;
    std::erase_if(part.rows, [&](const auto& row) {
      return std::ranges::find(row, Field(basis)) == row.end();
    });
    return at(part, method, "speedup", column);
  };
  EXPECT_EQ(cell("zero", "measured-e2e", "measured"), "2.000");
  EXPECT_EQ(cell("zero", "measured-backward", "measured"), "4.000");
  EXPECT_EQ(cell("zero", "measured-backward", "n"), "2") << "processes";
  EXPECT_EQ(cell("zero", "measured-backward", "reported"), "4.000");
  EXPECT_EQ(cell("zero", "measured-backward", "verdict"), name(Verdict::kNotComparable));
  EXPECT_EQ(cell("random", "measured-backward", "reason"),
            "its timing runs did not time the backward pass by itself");
  EXPECT_NE(render(table, "md").find("speedup, % (measured-backward)"), std::string::npos);
}

// A step takes 20 ms, half of it data gradients. "zero" leaves out three quarters of their work,
// which would make steps 1.6 times as fast, "random" half, 4/3 times. Both reach the target, after
// 1200 and 600 steps.
TEST_F(PaperReport, AnEstimateOfTheTimeToATargetIsMadeOfStepsAndShares) {
  auto experiment = item(2);
  auto& runs = trainings_of(experiment);
  const auto trainings = runs;
  for (auto run : trainings) {
    run.config.purpose = Purpose::kTiming;
    run.key = "timings/" + run.key;
    runs.push_back(run);
  }
  experiment.target = Target{"accuracy", 0.8};
  ReportedValue time = accuracy_value();
  time.quantity = PaperQuantity::kTimeToTarget;
  time.unit = "s";
  ReportedValue estimated = time;
  estimated.basis = Basis::kEstimated;
  ReportedValue speed = estimated;
  speed.quantity = PaperQuantity::kSpeedup;
  speed.unit = "x";
  speed.against = "random";
  speed.paper = {{{"", std::nullopt}}, {{"0.5", 0.5}}};
  experiment.paper.values = {estimated, speed};
  RunStore store(path_, RunStore::Mode::kWrite);
  store.add_experiment(experiment, "sweep");
  for (const auto& run : experiment.runs()) {
    std::string folder = run.key;
    std::replace(folder.begin(), folder.end(), '/', '-');
    const auto id = store.begin(run.key, environment_of(), folder_ / folder);
    std::vector<Json> events = {environment_of()};
    if (run.config.purpose == Purpose::kAccuracy) {
      for (auto& event :
           run.method_label == "random" ? accuracy_events({0.85}) : accuracy_events({0.7, 0.85})) {
        events.push_back(event);
      }
    } else {
      const double left = run.method_label == "zero" ? 25 : run.method_label == "random" ? 50 : 100;
      events.insert(events.end(), {block_event(0, "dense", 10, 200'000'000),
                                   block_event(0, "approx", 10, 300'000'000),
                                   timing_metric("phase_share", "data_gradient", 20, 0.5),
                                   {{"event", "layer"},
                                    {"layer", "conv"},
                                    {"product", "data_gradient"},
                                    {"method", run.method_label},
                                    {"calls", 1},
                                    {"exact_calls", 0},
                                    {"macs_dense", 100},
                                    {"macs_done", left},
                                    {"density", nullptr}},
                                   final_event(1)});
    }
    store.finish(*id, events, {});
  }
  const auto table = report_paper(Snapshot::or_empty(path_), experiment, experiment);
  EXPECT_EQ(at(table, "dense", "time_to_target", "measured"), "24.000");
  EXPECT_EQ(at(table, "zero", "time_to_target", "measured"), "15.000");
  EXPECT_EQ(at(table, "random", "time_to_target", "measured"), "9.000");
  EXPECT_EQ(at(table, "zero", "speedup", "measured"), "0.600") << "9 s over 15 s";
  EXPECT_EQ(at(table, "zero", "speedup", "n"), "2") << "seeds";
  EXPECT_EQ(at(table, "zero", "speedup", "reason"),
            "both are estimates, each from the times of its own machine");
  EXPECT_EQ(at(table, "dense", "speedup", "measured"), "0.375");
  EXPECT_EQ(at(table, "random", "speedup", "measured"), "") << "what the others are held against";
  EXPECT_EQ(at(table, "random", "speedup", "verdict"), "");
}

}  // namespace
}  // namespace approx
