// The main table: which runs make a row, what it counts, how it is written.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>

#include "base/files.h"
#include "results/store/database.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

TEST_F(ReportTest, AnEmptyStoreIsAnEmptyTable) {
  { RunStore store(path_, Mode::kWrite); }
  const Table table = made("table", path_);
  EXPECT_TRUE(table.rows.empty());
  EXPECT_EQ(
      render(table, "md"),
      "| network | data set | schedule | method | n   | accuracy % | best % | loss vs dense, pp "
      "| speedup vs exact | speedup (not isolated) | time to target | images/s | runs |\n"
      "|---------|----------|----------|--------|-----|------------|--------|------------------"
      "-|------------------|------------------------|----------------|----------|------|\n");
  EXPECT_EQ(render(table, "jsonl"), "");
  EXPECT_EQ(Json::parse(render(table, "json"))["rows"], Json::array());
  EXPECT_TRUE(made("kernels", path_).rows.empty());
  EXPECT_TRUE(made("runs", path_).rows.empty());
  EXPECT_THROW(made("table", folder_ / "none.db"), Error);
  EXPECT_THROW(made("table", path_, {.experiment = "test:one"}), Error);
}

TEST_F(ReportTest, OneSeedHasNoInterval) {
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.6875})});
  EXPECT_EQ(
      render(made("table", path_), "md"),
      R"(| network | data set | schedule | method      | n   | accuracy %  | best %      | loss vs dense, pp | speedup vs exact | speedup (not isolated) | time to target | images/s      | runs |
|---------|----------|----------|-------------|-----|-------------|-------------|-------------------|------------------|------------------------|----------------|---------------|------|
| LeNet   | mnist    |          | dense [a,b] | 1   | 75.00 (n=1) | 75.00 (n=1) | –                 | –                | –                      | –              | 10000.0 (n=1) | 1/1  |
| LeNet   | mnist    | all      | zero [a,b]  | 1   | 68.75 (n=1) | 68.75 (n=1) | 6.25 (n=1)        | –                | 1.00× (n=1)            | –              | 10000.0 (n=1) | 1/1  |

- a: fewer than 5 seeds; one seed has no interval
- b: images/s of runs that may have shared the machine
- ±, [ ]: 95 % intervals. Images/s, ceiling and estimated are medians, with ± over runs
)");
}

TEST_F(ThreeSeeds, NumbersAreThoseComputedByHand) {
  fill_three();
  const Table table = made("table", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_DOUBLE_EQ(real(table, "dense", "accuracy_pct"), 81.25);
  EXPECT_NEAR(real(table, "dense", "accuracy_pct_half"), 15.52586, 1e-4);
  EXPECT_NEAR(real(table, "zero", "accuracy_pct"), 72.91667, 1e-4);
  EXPECT_NEAR(real(table, "zero", "accuracy_pct_half"), 17.92772, 1e-4);
  EXPECT_NEAR(real(table, "zero", "best_accuracy_pct"), 75.0, 1e-9);  // 68.75, 75, 81.25
  EXPECT_NEAR(real(table, "zero", "loss_pp"), 8.33333, 1e-4);
  EXPECT_NEAR(real(table, "zero", "loss_pp_half"), 8.96386, 1e-4);
  EXPECT_DOUBLE_EQ(real(table, "zero", "loss_p"), 0.25);
  EXPECT_EQ(count(table, "zero", "loss_pairs"), 3);
  EXPECT_NEAR(real(table, "zero", "speedup"), std::exp2(1.5), 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup_lo"), std::exp2(1.5 - 6.353102), 1e-5);
  EXPECT_NEAR(real(table, "zero", "speedup_hi"), std::exp2(1.5 + 6.353102), 1e-2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "speedup_not_isolated"), 1);
  EXPECT_DOUBLE_EQ(real(table, "dense", "time_to_target_s"), 1.5);
  EXPECT_EQ(count(table, "dense", "target_reached"), 2);
  // t(1) = 12.7062: times 1 and 2 s; images/s 2500 and 5000; both at half their difference.
  EXPECT_NEAR(real(table, "dense", "time_to_target_s_half"), 12.7062 / 2, 1e-4);
  EXPECT_EQ(at(table, "zero", "time_to_target_s_half"), Field()) << "one run reached it";
  EXPECT_NEAR(real(table, "dense", "images_per_s_half"), 12.7062 * 1250, 0.1);
  EXPECT_EQ(count(table, "dense", "images_per_s_runs"), 2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "images_per_s_half"), 0);
  EXPECT_DOUBLE_EQ(real(table, "zero", "time_to_target_s"), 2);
  EXPECT_EQ(count(table, "zero", "target_reached"), 1);
  EXPECT_DOUBLE_EQ(real(table, "zero", "images_per_s"), 10000);
  EXPECT_EQ(count(table, "zero", "images_per_s_isolated"), 1);
  EXPECT_DOUBLE_EQ(real(table, "dense", "images_per_s"), 3750);  // median of 5000 and 2500
  EXPECT_EQ(count(table, "zero", "planned"), 5);
  EXPECT_EQ(count(table, "zero", "finished"), 5);
}

TEST_F(ThreeSeeds, Markdown) {
  fill_three();
  EXPECT_EQ(
      render(made("table", path_), "md"),
      R"(| network | data set | schedule | method     | n   | accuracy %    | best %        | loss vs dense, pp | speedup vs exact | speedup (not isolated) | time to target            | images/s         | runs |
|---------|----------|----------|------------|-----|---------------|---------------|-------------------|------------------|------------------------|---------------------------|------------------|------|
| LeNet   | mnist    |          | dense [a]  | 3   | 81.25 ± 15.53 | 81.25 ± 15.53 | –                 | –                | –                      | 1.5 ± 6.4 s (2/3 reached) | 3750.0 ± 15882.8 | 3/3  |
| LeNet   | mnist    | all      | zero [a,b] | 3   | 72.92 ± 17.93 | 75.00 ± 15.53 | 8.33 ± 8.96       | 2.83× (n=2)      | 1.00× [1.00, 1.00]     | 2.0 s (1/3 reached)       | 10000.0 ± 0.0    | 5/5  |

- a: fewer than 5 seeds; one seed has no interval
- b: its speedup was timed in fewer than 5 processes; one process has no interval
- target: 80 % accuracy
- ±, [ ]: 95 % intervals. Images/s, ceiling and estimated are medians, with ± over runs
- p: exact sign-flip test against no difference from dense, Holm-adjusted over the one loss that was declared, which takes 6 seeds before any can be below 0.05
- speedup vs exact: over this program's best exact step, which has kernels of its own; vs stock: no timing with operators = library of this step on this machine
)");
}

TEST_F(ThreeSeeds, Csv) {
  fill_three();
  // The last digits of logarithms and quantiles depend on the mathematical library: the columns
  // that have them are compared with NumbersAreThoseComputedByHand, here the text around them.
  std::string csv = render(made("table", path_), "csv");
  csv = std::regex_replace(csv, std::regex(R"((\d+\.\d{4})\d+)"), "$1");
  EXPECT_EQ(csv,
            "network,dataset,schedule,method,setting,tuned_rate,n,accuracy_pct,accuracy_pct_half,"
            "accuracy_pct_sd,best_accuracy_pct,best_accuracy_pct_half,loss_pp,loss_pp_half,"
            "loss_pairs,loss_p,loss_p_holm,speedup,speedup_lo,speedup_hi,speedup_vs_stock,"
            "speedup_vs_stock_lo,speedup_vs_stock_hi,speedup_vs_stock_missing,speedup_block_pairs,"
            "speedup_runs,speedup_not_isolated,speedup_not_isolated_lo,speedup_not_isolated_hi,"
            "target,time_to_target_s,time_to_target_s_half,target_reached,target_runs,"
            "target_budget_s,images_per_s,images_per_s_half,images_per_s_runs,"
            "images_per_s_isolated,planned,finished,diverged,failed,missing,notes,"
            "speedup_ceiling,speedup_ceiling_half,speedup_ceiling_runs,speedup_estimated,"
            "speedup_estimated_half,speedup_estimated_runs,compute_reduction_pct,"
            "compute_reduction_pct_half,realisation,"
            "realisation_lo,realisation_hi\n"
            "LeNet,mnist,,dense,,,3,81.25,15.5258,6.25,81.25,15.5258,,,0,,,,,,,,,no "
            "timing with operators = library of this step on this machine,0,0,,,,0.8,1.5,6.3531,2,"
            "3,2,3750,15882.7559,2,1,3,3,0,0,0,few seeds,,,,,,,,,,,\n"
            "LeNet,mnist,all,zero,,,3,72.9166,17.9277,7.2168,75,15.5258,8.3333,8.9638,3,0.25,0.25,"
            "2.8284,0.0345,231.2167,,,,no timing with operators = library of this step on this "
            "machine,2,2,1,1,1,0.8,2,,1,3,2,10000,0,2,1,5,5,0,0,0,few seeds; few "
            "processes,,,,,,,,,,,\n");
}

TEST_F(ThreeSeeds, JsonHasTheSameRows) {
  fill_three();
  const Json json = Json::parse(render(made("table", path_), "json"));
  EXPECT_EQ(json["schema"], "approxtrain.table/1");
  EXPECT_EQ(json["table"], "table");
  EXPECT_EQ(json["rows"][1]["method"], "zero");
  EXPECT_EQ(json["rows"][1]["loss_p"], 0.25);
  EXPECT_EQ(json["rows"][0]["loss_pp"], nullptr);
  EXPECT_FALSE(json["rows"][0].contains("special"));
  const std::string lines = render(made("table", path_), "jsonl");
  EXPECT_EQ(Json::parse(lines.substr(0, lines.find('\n'))), json["rows"][0]);
}

TEST_F(ThreeSeeds, TheSameStoreGivesTheSameBytes) {
  fill_three();
  for (const char* format : {"md", "csv", "json", "jsonl"}) {
    EXPECT_EQ(render(made("table", path_), format), render(made("table", path_), format));
  }
}

TEST_F(ReportTest, DivergedFailedAndMissingRunsAreCounted) {
  Ran diverged{planned("zero", 1), accuracy_events({0.1}, RunState::kDiverged)};
  Ran failed{
      planned("zero", 2), {}, environment_of(), {.state = RunState::kOom, .error = "memory"}};
  Ran missing{planned("zero", 3), {}};
  fill({accuracy("zero", 0, {0.75}), diverged, failed, missing}, Target{"accuracy", 0.9});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 1);
  EXPECT_DOUBLE_EQ(real(table, "zero", "accuracy_pct"), 75);
  EXPECT_EQ(count(table, "zero", "diverged"), 1);
  EXPECT_EQ(count(table, "zero", "failed"), 1);
  EXPECT_EQ(count(table, "zero", "missing"), 1);
  EXPECT_EQ(table.text_rows[0].back(), "1/4, 1 diverged, 1 failed, 1 missing");
  // None of the two runs with a result reached it in its second of training.
  EXPECT_EQ(table.text_rows[0][10], "> 1.0 s (0/2 reached)");
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")), "few seeds; diverged; not isolated");
}

// A file of unknown origin: sums and squares of such numbers are no numbers.
TEST_F(ThreeSeeds, NumbersThatNothingMeasuresAreDamage) {
  fill_three();
  for (const char* change :
       {"UPDATE metric SET value = 1e308 WHERE run_id = 1", "UPDATE metric SET epoch = -9e307",
        "UPDATE run SET step_ns_median = 1e-200", "UPDATE metric SET train_ns = -1",
        "UPDATE run SET train_ns = -1"}) {
    const std::string copy = folder_ / "changed.db";
    write_file(copy, file_bytes(path_));
    SQLite::Database(copy, SQLite::OPEN_READWRITE).exec(change);
    try {
      made("table", copy);
      ADD_FAILURE() << change;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDatabase) << error.what();
    }
  }
}

TEST_F(ReportTest, OnlyDivergedRunsHaveNoMean) {
  fill({{planned("zero", 0), accuracy_events({0.1}, RunState::kDiverged)}});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 0);
  EXPECT_EQ(at(table, "zero", "accuracy_pct").index(), 0u);
  EXPECT_EQ(table.text_rows[0][5], "–");
}

TEST_F(ReportTest, RunsOfSeveralMachinesArePairedInAccuracyAlone) {
  auto other = accuracy("zero", 1, {0.2, 0.5});
  other.environment = environment_of("other");
  fill({accuracy("dense", 0, {0.75}), accuracy("dense", 1, {1.0}), accuracy("zero", 0, {0.5}),
        other});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "loss_pairs"), 2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "loss_pp"), 37.5);
  EXPECT_DOUBLE_EQ(real(table, "zero", "speedup_not_isolated"), 1);  // that of seed 0
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")),
            "few seeds; not isolated; mixed hosts; pairs of different machines");
}

TEST_F(ReportTest, RunsOnOtherDataAreNeitherPairedNorHidden) {
  auto other = accuracy("zero", 1, {0.5});
  other.environment = environment_of("other", /*dirty=*/true, /*lossy=*/true);
  fill({accuracy("dense", 0, {0.75}), accuracy("dense", 1, {0.75}), accuracy("zero", 0, {0.5}),
        other});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 2);
  EXPECT_EQ(count(table, "zero", "loss_pairs"), 1);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "notes")),
            "few seeds; unpaired seeds; lossy data; dirty build; not isolated; mixed hosts");
}

// A later version of a method, or other data under the same name, has another key.
TEST_F(ReportTest, WhatAnEarlierVersionMeasuredIsNoFurtherSeed) {
  auto later = accuracy("zero", 0, {0.5});
  later.plan.key += "-v2";
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.25}), accuracy("zero", 1, {0.5}),
        later});
  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 2);
  EXPECT_DOUBLE_EQ(real(table, "zero", "accuracy_pct"), 50);
  EXPECT_EQ(table.notes.back(),
            "left out: a run of zero, measured with earlier data or an earlier version of method, "
            "network or kernel rules");
}

TEST_F(ReportTest, ARowOfAnEarlierTextOfTheFileIsCalledSo) {
  auto later = accuracy("zero", 0, {0.5});
  later.plan.config.schedule = {Rule{.steps = "::4"}};
  later.plan.key += "-other-schedule";
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.25}), later});
  const Table table = made("table", path_);
  ASSERT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][2]), "");
  EXPECT_EQ(std::get<std::string>(table.rows[1][2]), "all (earlier)");
  EXPECT_EQ(std::get<std::string>(table.rows[2][2]), "all");
}

// Stored before equal runs had one key: an idle setting, layers in another order, a zero's sign.
TEST_F(ReportTest, ARunStoredUnderTwoSpellingsCountsOnce) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.9}));
    for (const char* layers : {"2,4,6", "6,4,2"}) {
      auto& run = runs.emplace_back(accuracy("random:std=0", seed, {0.8}));
      run.plan.config.schedule = {Rule{.layers = layers}};
      run.plan.key += layers;
      if (layers[0] == '2') continue;
      run.plan.config.recipe.decay = 0.5;
      run.plan.config.method = "random:std=-0";
    }
  }
  fill(runs);
  const Table table = made("table", path_);
  EXPECT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(count(table, "random:std=0", "n"), 6);
  EXPECT_EQ(table.notes.back(),
            "left out: 6 runs of random:std=0, stored a second time with settings that are written "
            "differently");
}

// A run of rules that never came to hold is an exact one: it loses nothing, and says nothing.
TEST_F(ReportTest, AMethodThatApproximatedNothingIsMarked) {
  const auto layer = [](const char* method, int64_t done, const Json& density) {
    return Json{{"event", "layer"},  {"layer", "conv"},   {"product", "weight_gradient"},
                {"method", method},  {"calls", 1},        {"exact_calls", 0},
                {"macs_dense", 100}, {"macs_done", done}, {"density", density}};
  };
  const auto planned = [](const char* plan) {
    return Json{{"event", "variant"}, {"layer", "conv"},     {"product", "weight_gradient"},
                {"plan", plan},       {"variant", "packed"}, {"calls", 1}};
  };
  const std::map<std::string, std::vector<Json>> events = {
      {"exact", {layer("dense", 100, nullptr)}},
      {"whole", {layer("whole", 100, nullptr)}},
      {"planned", {layer("planned", 100, nullptr), planned("Dense")}},
      // Signs, noise and rounding leave nothing out and are no exact training.
      {"signs", {layer("signs", 100, 1.0)}},
      {"signs_planned", {layer("signs_planned", 100, 1.0), planned("PrunedDY")}},
      {"rounded", {layer("rounded", 100, 1.0), planned("Dense")}},
      {"scaled", {layer("scaled", 100, nullptr), planned("Sampled")}},
      {"at_times", {layer("at_times", 100, nullptr), planned("Dense"), planned("PrunedDY")}},
      {"less", {layer("less", 99, nullptr)}},
      {"pruned", {layer("pruned", 100, 0.5)}},
      {"uncounted", {block_event(0, "dense", 1, 1)}}};
  std::vector<Ran> runs = {accuracy("dense", 0, {0.8})};
  for (const auto& [method, of_run] : events) {
    auto& run = runs.emplace_back(accuracy(method, 0, {0.8}));
    run.events.insert(run.events.begin(), of_run.begin(), of_run.end());
  }
  fill(runs);
  const Table table = made("table", path_);
  std::set<std::string> marked;
  for (const auto& [method, of_run] : events) {
    const auto notes = std::get<std::string>(at(table, method, "notes"));
    if (notes.find("approximated nothing") != std::string::npos) marked.insert(method);
  }
  EXPECT_EQ(marked, (std::set<std::string>{"exact", "whole", "planned"}));
}

// The counts of several ranks are those of one, and its schedule may name others.
TEST_F(ReportTest, OfSeveralRanksNobodyKnowsThatNothingWasApproximated) {
  auto run = accuracy("zero", 0, {0.8});
  run.plan.config.ranks = 2;
  run.events.insert(run.events.begin(), {{"event", "layer"},
                                         {"layer", "conv"},
                                         {"product", "weight_gradient"},
                                         {"method", "dense"},
                                         {"calls", 1},
                                         {"exact_calls", 1},
                                         {"macs_dense", 100},
                                         {"macs_done", 100},
                                         {"density", nullptr}});
  fill({run});
  EXPECT_EQ(
      std::get<std::string>(at(made("table", path_), "zero", "notes")).find("approximated nothing"),
      std::string::npos);
}

// Whether steps are graphs decides nothing of a training, and its key says nothing of it.
TEST_F(ReportTest, AccuraciesArePairedWhateverTheirGraphs) {
  auto dense = accuracy("dense", 0, {0.8}), zero = accuracy("zero", 0, {0.7});
  dense.plan.config.device = zero.plan.config.device = DeviceKind::kCuda;
  zero.plan.config.graphs = GraphUse::kOff;
  auto timed = timing("zero", 2000);
  timed.plan.config.device = DeviceKind::kCuda;
  timed.plan.config.graphs = GraphUse::kOff;
  fill({dense, zero, timed});
  const Table table = made("table", path_);
  EXPECT_EQ(table.rows.size(), 2u) << "accuracies and timings stand together";
  EXPECT_NEAR(real(table, "zero", "loss_pp"), 10, 1e-9);
  EXPECT_NEAR(real(table, "zero", "speedup"), 2, 0.01);
}

TEST_F(ReportTest, PairsOfDifferentBuildsAreNoted) {
  const auto notes = [&](const char* key, const char* value) {
    auto other = accuracy("zero", 1, {0.5});
    other.environment["engine"][key] = value;
    std::vector<Ran> runs = {accuracy("dense", 0, {0.75}), accuracy("dense", 1, {0.75}),
                             accuracy("zero", 0, {0.5}), other};
    for (size_t i = 0; i < 3; ++i) runs[i].environment["engine"]["library"] = "11";
    std::filesystem::remove(path_);
    fill(runs);
    return std::get<std::string>(at(made("table", path_), "zero", "notes"));
  };
  const std::string note = "pairs of different builds";
  EXPECT_EQ(notes("library", "11").find(note), std::string::npos);
  EXPECT_EQ(notes("hostname", "box").find(note), std::string::npos) << "one says no library";
  EXPECT_NE(notes("library", "22").find(note), std::string::npos);
  EXPECT_NE(notes("git_sha", "def456").find(note), std::string::npos);
}

TEST_F(ReportTest, RunsThatWentOnFromACheckpointAreNoted) {
  auto resumed = accuracy("zero", 0, {0.5});
  resumed.end.taint = {"went on from a checkpoint"};
  fill({resumed, accuracy("dense", 0, {0.5})});
  const Table table = made("table", path_);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "notes")).find("resumed runs"),
            std::string::npos);
  EXPECT_EQ(std::get<std::string>(at(table, "dense", "notes")).find("resumed runs"),
            std::string::npos);
  EXPECT_EQ(real(table, "zero", "accuracy_pct"), 50);
}

TEST_F(ReportTest, DifferentSettingsAreDifferentRows) {
  auto small = accuracy("zero", 0, {0.5});
  small.plan.config.batch_size = 50;
  small.plan.config.recipe.epochs = 7;
  small.plan.key += "small";
  fill({accuracy("zero", 0, {0.75}), small});
  const Table table = made("table", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(table.rows[0][4]), "batch_size=100 epochs=1");
  EXPECT_EQ(std::get<std::string>(table.rows[1][4]), "batch_size=50 epochs=7");
  EXPECT_EQ(table.text_columns[4], "setting");
}

TEST_F(ReportTest, TheHeldOutPartChoosesTheBestEvaluation) {
  Ran run{planned("zero", 0),
          {accuracy_event(1, 0.25), accuracy_event(2, 0.5), accuracy_event(3, 0.375),
           accuracy_event(1, 0.9, "holdout"), accuracy_event(2, 0.2, "holdout"),
           accuracy_event(3, 0.3, "holdout"), final_event(3'000'000'000)}};
  run.plan.config.split = SplitKind::kHoldout;
  fill({run}, Target{"accuracy", 0.5});
  const Table table = made("table", path_);
  EXPECT_DOUBLE_EQ(real(table, "zero", "accuracy_pct"), 37.5);
  EXPECT_DOUBLE_EQ(real(table, "zero", "best_accuracy_pct"), 25) << "not the best on the test set";
  EXPECT_DOUBLE_EQ(real(table, "zero", "time_to_target_s"), 1);
}

// What was declared and not run counts in the family: two of these three arms are not there.
TEST_F(ReportTest, PIsAdjustedOverTheLossesThatWereDeclared) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.75}));
    runs.push_back(accuracy("zero", seed, {0.5}));
    for (const char* missing : {"crs", "sdgp"}) {
      runs.push_back(accuracy(missing, seed, {}));
      runs.back().events.clear();
    }
  }
  fill(runs);
  const Table table = made("table", path_);
  EXPECT_NEAR(real(table, "zero", "loss_p"), 2.0 / 64, 1e-9);
  EXPECT_NEAR(real(table, "zero", "loss_p_holm"), 3 * 2.0 / 64, 1e-9);
  EXPECT_NE(
      render(table, "md").find("over the 3 losses that were declared, of which one is here, "),
      std::string::npos);
}

}  // namespace
}  // namespace approx
