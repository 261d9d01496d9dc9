// Speedups of the main table: their pairs, ceilings and estimates, and timings that do not count.
#include <gtest/gtest.h>

#include <cmath>

#include "results/rows/stored_rows.h"
#include "results/stats/stats.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

// Half of a step is weight gradients, three fifths of whose work is approximated at a quarter of
// it.
TEST_F(ReportTest, TheCeilingAndTheEstimateOfASpeedup) {
  const auto phase = [](const char* name, double share) {
    return Json{{"event", "metric"}, {"name", "phase_share"}, {"split", name}, {"step", 8},
                {"epoch", 0.5},      {"train_ns", 1},         {"value", share}};
  };
  const auto layer = [](const char* method, int64_t calls, double dense, double done) {
    return Json{{"event", "layer"},    {"layer", "conv"},   {"product", "weight_gradient"},
                {"method", method},    {"calls", calls},    {"exact_calls", 2},
                {"macs_dense", dense}, {"macs_done", done}, {"density", nullptr}};
  };
  fill({{planned("zero", 0, Purpose::kTiming),
         {block_event(0, "dense", 10, 300), block_event(0, "approx", 10, 200),
          phase("weight_gradient", 0.5), phase("forward", 0.2), layer("dense", 2, 40, 40),
          layer("zero", 3, 60, 15), final_event(1)}}});
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "speedup"), 1.5, 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup_ceiling"), 1 / (1 - 0.5 * 0.6), 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup_estimated"), 1 / (1 - 0.5 * 0.45), 1e-12);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("| ceiling     | *estimated*   |"), std::string::npos) << text;
  EXPECT_NE(text.find("*1.29× (n=1)*"), std::string::npos) << text;
  // 45 of 100 multiply-accumulates are left out, and a third of the time.
  EXPECT_NEAR(real(table, "zero", "compute_reduction_pct"), 45, 1e-12);
  EXPECT_NEAR(real(table, "zero", "realisation"), (1 - 1 / 1.5) / 0.45, 1e-12);
  EXPECT_NE(text.find("| realised"), std::string::npos) << text;
  EXPECT_NE(text.find("| 0.74 (n=1) |"), std::string::npos) << text;
}

TEST_F(ReportTest, TimesOfAnotherMachineThanTheExactOnesAreMarked) {
  auto zero = accuracy("zero", 0, {0.8}), random = accuracy("random", 0, {0.8});
  zero.environment = environment_of("fast");
  fill({accuracy("dense", 0, {0.1, 0.8}), zero, random}, Target{"accuracy", 0.75});
  const auto notes = [](const Table& table, const char* method) {
    return std::get<std::string>(at(table, method, "notes"));
  };
  const Table table = made("table", path_);
  EXPECT_NE(notes(table, "zero").find("times of another machine"), std::string::npos);
  EXPECT_EQ(notes(table, "random").find("times of another machine"), std::string::npos);
  // Where no seconds stand nobody can compare them.
  std::filesystem::remove(path_);
  fill({accuracy("dense", 0, {0.1, 0.8}), zero, random});
  EXPECT_EQ(notes(made("table", path_), "zero").find("times of another machine"),
            std::string::npos);
}

// Of the steps that were timed, at the beginning of a training, less may be left out than later.
TEST_F(ReportTest, WhatIsRealisedIsOfTheStepsThatWereTimed) {
  const auto layer = [](double done) {
    return Json{{"event", "layer"},  {"layer", "conv"},   {"product", "weight_gradient"},
                {"method", "zero"},  {"calls", 1},        {"exact_calls", 0},
                {"macs_dense", 100}, {"macs_done", done}, {"density", nullptr}};
  };
  auto trained = accuracy("zero", 0, {0.8});
  trained.events.insert(trained.events.begin(), layer(40));
  auto timed = timing("zero", 1250);
  timed.events.insert(timed.events.begin(), layer(60));
  fill({accuracy("dense", 0, {0.8}), trained, timed});
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "compute_reduction_pct"), 60, 1e-9);
  EXPECT_NEAR(real(table, "zero", "realisation"), 0.2 / 0.4, 0.01);
}

// A single process cannot tell how processes differ: its estimate stands, marked.
TEST_F(ReportTest, OneTimingProcessHasNoInterval) {
  fill({timing("zero", 2000)});
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "speedup"), 2, 0.01);
  EXPECT_EQ(at(table, "zero", "speedup_lo").index(), 0u);
  EXPECT_EQ(count(table, "zero", "speedup_block_pairs"), 4);
  EXPECT_EQ(count(table, "zero", "speedup_runs"), 1);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")), "few processes");
  EXPECT_NE(render(table, "md").find("| 2.00× (n=1) "), std::string::npos);
}

TEST_F(ReportTest, ATimingByEarlierKernelRulesIsCalledSo) {
  auto earlier = timing("zero", 2000);
  earlier.environment["engine"].erase("kernel_rules");  // as before there was a second version
  fill({earlier});
  EXPECT_EQ(std::get<std::string>(at(made("table", path_), "zero", "notes")),
            "few processes; earlier kernel rules");
}

// What is approximated takes a fifth of a step, so nothing can be more than 1.25 times as fast.
TEST_F(ReportTest, ASpeedupAboveItsCeilingIsMarkedAndDecidesNothing) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.9}));
    runs.push_back(accuracy("zero", seed, {0.9}));
  }
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    auto& run = runs.emplace_back(timing("zero", 1500 + seed, seed));
    run.events.push_back({{"event", "metric"},
                          {"name", "phase_share"},
                          {"split", "forward"},
                          {"step", 8},
                          {"epoch", 0.5},
                          {"train_ns", 1},
                          {"value", 0.2}});
    run.events.push_back({{"event", "layer"},
                          {"layer", "conv"},
                          {"product", "forward"},
                          {"method", "zero"},
                          {"calls", 1},
                          {"exact_calls", 0},
                          {"macs_dense", 2},
                          {"macs_done", 1},
                          {"density", nullptr}});
  }
  fill(runs);
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "speedup_ceiling"), 1.25, 1e-12);
  EXPECT_GT(real(table, "zero", "speedup_lo"), 1.25);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")), "above its ceiling");
  const Table advice = made("advice", path_);
  EXPECT_EQ(std::get<std::string>(at(advice, "zero", "worth")), "undecided");
  EXPECT_EQ(std::get<std::string>(at(advice, "zero", "reason"))
                .find("its speedup lies above its own ceiling"),
            0u);
}

// A data set may have fewer images than a batch wants.
TEST_F(ReportTest, ImagesASecondAreOfTheImagesThatAStepHad) {
  auto whole = timing("zero", 2000), fewer = timing("random", 2000);
  fewer.environment["batch_images"] = 58;
  fill({whole, fewer});
  const Table table = made("table", path_);
  // Ten steps in 1000 ns.
  EXPECT_NEAR(real(table, "zero", "images_per_s"), 100 * 1e9 / 100, 1);
  EXPECT_NEAR(real(table, "random", "images_per_s"), 58 * 1e9 / 100, 1);
}

// Accuracies are those of the trainings, all of which ended.
TEST_F(ReportTest, ATimingThatDivergedIsNoDivergedTraining) {
  auto stopped = timing("zero", 2000, 1);
  stopped.events.back() = final_event(1, RunState::kDiverged);
  fill({accuracy("dense", 0, {0.5}), accuracy("zero", 0, {0.5}), timing("zero", 2000), stopped});
  const Table table = made("table", path_);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")).find("diverged"), std::string::npos);
  EXPECT_EQ(count(table, "zero", "diverged"), 1);
  EXPECT_EQ(at(made("advice", path_), "zero", "decided_by"),
            Field(std::string("speed, loss, same time")));
}

TEST_F(ReportTest, TaintedTimingsAreLeftOutUnlessAskedFor) {
  Ran timing{planned("zero", 0, Purpose::kTiming),
             {block_event(0, "dense", 10, 200), block_event(0, "approx", 10, 100), final_event(1)},
             environment_of(),
             {.taint = {"load"}}};
  fill({timing});
  EXPECT_EQ(at(made("table", path_), "zero", "speedup").index(), 0u);
  EXPECT_EQ(std::get<std::string>(at(made("table", path_), "zero", "notes")), "tainted timing");
  EXPECT_DOUBLE_EQ(real(made("table", path_, {.include_tainted = true}), "zero", "speedup"), 2);
  EXPECT_EQ(std::get<std::string>(at(made("runs", path_), "zero", "state")), "finished");
  EXPECT_NE(render(made("runs", path_), "md").find("| finished, tainted |"), std::string::npos);
}

// What was timed in vain is not said to be untimed: another timing of it would be refused.
TEST_F(ReportTest, WhatHasDisturbedTimingsAloneIsSaidToNeedThemAgain) {
  Ran disturbed = timing("zero", 2000);
  disturbed.end = {.taint = {"load"}};
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.8}), accuracy("random", 0, {0.8}),
        disturbed});
  const auto reason = [&](const char* method) {
    return std::get<std::string>(at(made("advice", path_), method, "reason"));
  };
  EXPECT_NE(reason("zero").find("--rerun tainted"), std::string::npos) << reason("zero");
  EXPECT_NE(reason("random").find("its speed was not measured"), std::string::npos);
  // To train exactly for the same time takes a speedup.
  EXPECT_EQ(reason("random").find("iso-time"), std::string::npos) << reason("random");
  const auto all = made("pareto", path_).notes;
  const std::string notes = fmt::format("{}", fmt::join(all, "\n"));
  EXPECT_NE(notes.find("(sweep --rerun tainted): zero"), std::string::npos) << notes;
  EXPECT_NE(notes.find("not timed: random"), std::string::npos) << notes;
  EXPECT_EQ(stored_rows(Snapshot(path_), "test:one").disturbed.size(), 1u);
}

// Processes differ by more than the speedup that a shorter training is to be as long as.
TEST_F(ReportTest, AControlOfTheSameTimeTakesFiveProcesses) {
  std::vector<Ran> runs = {accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.8}),
                           accuracy("random", 0, {0.8}), timing("random", 3000)};
  for (int64_t process = 0; process < 5; ++process) {
    runs.push_back(timing("zero", 2000 + process, process));
  }
  fill(runs);
  const StoredRows stored = stored_rows(Snapshot(path_), "test:one");
  ASSERT_EQ(stored.speedups.size(), 1u);
  EXPECT_EQ(stored.speedups.begin()->first.method, "zero");
  EXPECT_LT(stored.speedups.begin()->second, 2.003);  // the lower end
  ASSERT_EQ(stored.timed_in_few.size(), 1u);
  EXPECT_EQ(stored.timed_in_few.begin()->first.method, "random");
  EXPECT_EQ(stored.timed_in_few.begin()->second, 1);
}

TEST_F(ReportTest, TheCeilingIsNotOfATaintedTimingEither) {
  Ran timing{planned("zero", 0, Purpose::kTiming),
             {block_event(0, "dense", 10, 200),
              block_event(0, "approx", 10, 100),
              {{"event", "metric"},
               {"name", "phase_share"},
               {"split", "forward"},
               {"step", 8},
               {"epoch", 0.5},
               {"train_ns", 1},
               {"value", 0.5}},
              {{"event", "layer"},
               {"layer", "conv"},
               {"product", "forward"},
               {"method", "zero"},
               {"calls", 1},
               {"exact_calls", 0},
               {"macs_dense", 2},
               {"macs_done", 1},
               {"density", nullptr}},
              final_event(1)},
             environment_of(),
             {.taint = {"load"}}};
  fill({timing});
  EXPECT_EQ(at(made("table", path_), "zero", "speedup_ceiling").index(), 0u);
  EXPECT_NEAR(real(made("table", path_, {.include_tainted = true}), "zero", "speedup_ceiling"), 2,
              1e-12);
}

TEST_F(ReportTest, ASmallerNetworksSpeedupIsOverTheLargerOnes) {
  const auto timing = [](const std::string& against, int64_t dense_ns) {
    Ran ran{
        planned("dense", 0, Purpose::kTiming),
        {block_event(0, "dense", 10, dense_ns), block_event(0, "approx", 10, 100), final_event(1)},
        environment_of(),
        {}};
    ran.plan.config.timed_against = against;
    ran.plan.key += against;
    return ran;
  };
  fill({timing("", 110), timing("vgg19", 300)});
  const Table table = made("table", path_);
  EXPECT_DOUBLE_EQ(real(table, "dense", "speedup"), 3);
  EXPECT_EQ(std::get<std::string>(at(table, "dense", "notes")),
            "timed against another network; few processes");
}

// By hand: two processes at exact / method = 2 and 4, two at exact / stock = 0.5 and 0.5, so over
// stock sqrt(8) / 0.5.
TEST_F(ReportTest, ASpeedupOverStockIsThatOverTheExactStepDividedByTheStockSteps) {
  const auto timed = [](const std::string& method, int64_t seed, int64_t dense_ns, bool stock) {
    Ran ran{
        planned(method, seed, Purpose::kTiming),
        {block_event(0, "dense", 10, dense_ns), block_event(0, "approx", 10, 100), final_event(1)}};
    if (stock) {
      ran.plan.config.operators = OperatorSet::kLibrary;
      ran.plan.key += "/stock";
      ran.plan.method_label = "LibTorch's own";
    }
    return ran;
  };
  const std::vector<Ran> methods = {timed("zero", 0, 200, false), timed("zero", 1, 400, false)};
  const auto stored = [&](const std::vector<Ran>& stock) {
    std::vector<Ran> runs = methods;
    runs.insert(runs.end(), stock.begin(), stock.end());
    runs.push_back(accuracy("dense", 0, {0.75}));
    std::filesystem::remove(path_);
    fill(runs);
    return made("table", path_);
  };
  const std::string note = "no timing with operators = library";
  {
    const Table table = stored({});
    EXPECT_EQ(at(table, "zero", "speedup_vs_stock").index(), 0u);
    EXPECT_EQ(std::get<std::string>(at(table, "zero", "speedup_vs_stock_missing")).find(note), 0u);
    EXPECT_NE(render(table, "md").find("vs stock: " + note), std::string::npos);
    EXPECT_EQ(render(table, "md").find("| speedup vs stock"), std::string::npos);
  }
  const std::vector<Ran> stock = {timed("dense", 0, 50, true), timed("dense", 1, 50, true)};
  {
    const Table table = stored(stock);
    EXPECT_NEAR(real(table, "zero", "speedup"), std::sqrt(8), 1e-12);
    EXPECT_NEAR(real(table, "zero", "speedup_vs_stock"), std::sqrt(8) / 0.5, 1e-12);
    // The stock step's own interval is a point.
    EXPECT_NEAR(real(table, "zero", "speedup_vs_stock_lo"), real(table, "zero", "speedup_lo") / 0.5,
                1e-9);
    EXPECT_EQ(std::get<std::string>(at(table, "zero", "speedup_vs_stock_missing")), "");
    EXPECT_NEAR(real(table, "dense", "speedup_vs_stock"), 2, 1e-12) << "the exact step itself";
    EXPECT_NEAR(real(table, "LibTorch's own", "speedup"), 0.5, 1e-12);
    EXPECT_EQ(std::get<std::string>(at(table, "LibTorch's own", "speedup_vs_stock_missing")),
              "it is the stock step itself");
    EXPECT_NE(render(table, "md").find("| speedup vs stock"), std::string::npos);
    EXPECT_NEAR(real(made("advice", path_), "zero", "speedup_vs_stock"), std::sqrt(8) / 0.5, 1e-12);
  }
  // Steps of another batch, another machine, another build.
  const auto changed = [&](const auto& change) {
    auto other = stock;
    for (auto& ran : other) change(ran);
    return stored(other);
  };
  const auto batch = changed([](Ran& ran) { ran.plan.config.batch_size = 50; });
  EXPECT_EQ(at(batch, "zero", "speedup_vs_stock").index(), 0u);
  const auto host = changed([](Ran& ran) { ran.environment = environment_of("other"); });
  EXPECT_EQ(at(host, "zero", "speedup_vs_stock").index(), 0u);
  const auto build = changed([](Ran& ran) { ran.environment["engine"]["git_sha"] = "def456"; });
  EXPECT_NEAR(real(build, "zero", "speedup_vs_stock"), std::sqrt(8) / 0.5, 1e-12);
  EXPECT_NE(std::get<std::string>(at(build, "zero", "notes")).find("stock step of another build"),
            std::string::npos);
}

// A selection is held against exact training, has no ceiling and has not approximated nothing.
TEST_F(ReportTest, ASelectionIsAnArmBesideExactTraining) {
  const auto of_selection = [](Ran ran) {
    ran.plan.config.selection = "random_subset:ratio=0.5";
    ran.plan.key += "-half";
    ran.plan.method_label = "half";
    return ran;
  };
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 3; ++seed) {
    const double of_seed = 0.001 * static_cast<double>(seed);
    runs.push_back(accuracy("dense", seed, {0.90 + of_seed}));
    runs.push_back(of_selection(accuracy("dense", seed, {0.88 + 2 * of_seed})));
    runs.push_back(of_selection(timing("dense", 1500, seed)));
  }
  fill(runs);
  const Table table = made("table", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_NEAR(real(table, "half", "speedup"), 1.5, 0.01);
  EXPECT_NEAR(real(table, "half", "loss_pp"), 1.9, 1e-9);
  EXPECT_EQ(at(table, "half", "speedup_ceiling").index(), 0u);
  EXPECT_EQ(std::get<std::string>(at(table, "half", "notes")).find("approximated nothing"),
            std::string::npos);
}

}  // namespace
}  // namespace approx
