// How fast a method must be to pay, by exact trainings of several lengths.
#include "results/stats/breakeven.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "core/experiment/iso_time.h"
#include "results/stats/stats.h"
#include "results/store/database.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

class BreakevenTest : public ReportTest {
 protected:
  static constexpr int64_t kSeeds = 6;

  // Exact accuracy in percent after so many epochs; of a seed beside it.
  static double curve(double epochs) {
    const double x = std::log(epochs / 4);
    return 80 + 15 * x - 5 * x * x;
  }
  static double of_seed(int64_t seed) { return 0.05 * static_cast<double>(2 * seed - kSeeds + 1); }

  static Recipe whole_recipe() {
    Recipe recipe;
    recipe.epochs = 4;
    recipe.lr_schedule = RateSchedule::kCosine;
    return recipe;
  }

  // A training in a recipe that ends with `percent`.
  static Ran trained(const std::string& method, int64_t seed, const Recipe& recipe, double percent,
                     const std::string& network = "lenet") {
    Ran ran = accuracy(method, seed, {percent / 100});
    ran.events[0]["epoch"] = length_in_epochs(recipe);
    ran.plan.config.recipe = recipe;
    ran.plan.config.network = ran.plan.network_label = network;
    ran.plan.key +=
        fmt::format("/{}/{}/{}", network, length_in_epochs(recipe), recipe.learning_rate);
    return ran;
  }

  // Six seeds of exact training at these shares of four epochs.
  void add_exact(const std::vector<double>& shares, const std::string& network = "lenet") {
    for (const double share : shares) {
      const Recipe recipe = shortened(whole_recipe(), share, 0);
      for (int64_t seed = 0; seed < kSeeds; ++seed) {
        runs_.push_back(trained("dense", seed, recipe,
                                curve(length_in_epochs(recipe)) + of_seed(seed), network));
        if (share < 1) runs_.back().plan.method_label = "dense for less";
      }
    }
  }

  // Six seeds of the method, as accurate as exact training of so many epochs, give or take a tenth.
  void add_method(const std::string& method, double as_accurate_as,
                  const std::string& network = "lenet") {
    for (int64_t seed = 0; seed < kSeeds; ++seed) {
      const double off = seed % 2 == 0 ? 0.1 : -0.1;
      runs_.push_back(trained(method, seed, whole_recipe(), curve(as_accurate_as) + off, network));
    }
  }

  // Ten processes on a machine, of speedups about `speedup`.
  void add_timings(const std::string& method, double speedup, const std::string& machine,
                   int64_t first_seed) {
    for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
      const auto dense_ns = static_cast<int64_t>(1000 * speedup) + (seed % 2 == 0 ? 5 : -5);
      runs_.push_back(timing(method, dense_ns, first_seed + seed, 0));
      runs_.back().plan.config.recipe = whole_recipe();
      runs_.back().environment = environment_of(machine);
    }
  }

  Table report() {
    std::filesystem::remove(path_);
    fill(runs_);
    return made("breakeven", path_);
  }

  // The rows of one part: "method", "exact" or "curve".
  Json lines(const std::string& part = "method") {
    const Json all = Json::parse(render(report(), "json"));
    Json found = Json::array();
    for (const auto& row : all["rows"]) {
      if (row["part"] == part) found.push_back(row);
    }
    return found;
  }

  std::string error() {
    try {
      report();
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      return error.what();
    }
    return "no error";
  }

  std::vector<Ran> runs_;
};

TEST_F(BreakevenTest, HoldsTheSpeedupOfEachMachineAgainstBreakEven) {
  add_exact({1, 0.7, 0.8, 0.9});
  add_method("zero", 3.4);
  add_timings("zero", 1.3, "fast", 0);
  add_timings("zero", 1.1, "slow", 20);
  add_timings("zero", 1.17, "even", 40);
  const Json rows = lines();
  ASSERT_EQ(rows.size(), 3U);
  std::vector<ExactTraining> exact;
  std::vector<MethodTraining> method;
  for (int64_t seed = 0; seed < kSeeds; ++seed) {
    for (const double length : {2.8, 3.2, 3.6, 4.0}) {
      exact.push_back({seed, length, curve(length) + of_seed(seed)});
    }
    method.push_back({seed, curve(3.4) + (seed % 2 == 0 ? 0.1 : -0.1)});
  }
  const auto expected = equivalent_length(exact, method);
  for (const auto& row : rows) {
    EXPECT_EQ(row["method"], "zero");
    EXPECT_NEAR(row["accuracy_pct"], curve(3.4), 1e-9);
    EXPECT_EQ(row["n"], 6);
    EXPECT_EQ(row["exact_runs"], 24);
    EXPECT_EQ(row["exact_lengths"], 4);
    EXPECT_NEAR(row["exact_shortest"], 2.8, 1e-9);
    EXPECT_NEAR(row["exact_longest"], 4, 1e-9);
    EXPECT_EQ(row["equivalent_place"], "within");
    EXPECT_NEAR(row["equivalent_epochs"], 3.4, 1e-6);
    EXPECT_NEAR(row["equivalent_epochs_lo"], *expected.lo, 1e-6);
    EXPECT_NEAR(row["equivalent_epochs_hi"], *expected.hi, 1e-6);
    EXPECT_NEAR(row["breakeven"], 4 / 3.4, 1e-6);
    EXPECT_NEAR(row["breakeven_lo"], 4 / *expected.hi, 1e-6);
    EXPECT_NEAR(row["breakeven_hi"], 4 / *expected.lo, 1e-6);
    EXPECT_EQ(row["speedup_runs"], 10);
    const double speedup = row["speedup"], lo = row["speedup_lo"];
    EXPECT_NEAR(row["gap_pct"], 100 * (speedup / (4 / 3.4) - 1), 1e-4);
    const double down = std::hypot(std::log(speedup / lo), std::log(3.4 / *expected.lo));
    EXPECT_NEAR(row["gap_pct_lo"], 100 * (speedup * 3.4 / 4 * std::exp(-down) - 1), 1e-4);
  }
  const auto machine = [&](const std::string& name) {
    for (const auto& row : rows) {
      if (row["machine"] == name) return row;
    }
    ADD_FAILURE() << name;
    return Json();
  };
  EXPECT_NEAR(machine("fast")["speedup"], 1.3, 1e-3);
  EXPECT_EQ(machine("fast")["pays"], "yes");
  EXPECT_EQ(machine("slow")["pays"], "no");
  EXPECT_LT(machine("slow")["gap_pct_hi"], 0);
  EXPECT_EQ(machine("even")["pays"], "undecided");
  EXPECT_EQ(machine("even")["reason"], "its speedup cannot be told from break-even");
}

// As people read it.
TEST_F(BreakevenTest, IsATableForPeople) {
  add_exact({1, 0.7, 0.85});
  add_method("zero", 3.4);
  add_timings("zero", 1.3, "box", 0);
  add_method("worse", 2);
  const Table table = report();
  ASSERT_EQ(table.text_rows.size(), 2U);
  EXPECT_THAT(
      table.text_columns,
      testing::ElementsAre("network", "data set", "setting", "schedule", "method", "accuracy, %",
                           "seeds", "epochs", "exact epochs as accurate", "break-even", "machine",
                           "speedup vs exact", "gap, %", "pays?", "why"));
  EXPECT_THAT(
      table.text_rows[0],
      testing::ElementsAre("lenet", "mnist", testing::_, "all", "zero", "77.43 ± 0.11", "6", "4.00",
                           testing::StartsWith("3.40 [3.3"), testing::StartsWith("1.18× [1.1"),
                           "box", testing::StartsWith("1.30× [1.30, "),
                           testing::StartsWith("10.5 ["), "yes", "faster than break-even"));
  EXPECT_THAT(table.text_rows[1],
              testing::ElementsAre("lenet", "mnist", testing::_, "all", "worse", testing::_, "6",
                                   "4.00", "<2.80 [<2.80, 2.80]", ">1.43× [1.43, >1.43]", "", "–",
                                   "–", "undecided", "its speed was not measured"));
  const std::string notes = fmt::format("{}", fmt::join(table.notes, "\n"));
  EXPECT_THAT(notes, testing::HasSubstr("break-even: the speedup at which"));
}

// A bound decides where the method lies beyond the trained lengths.
TEST_F(BreakevenTest, BeyondTheTrainedLengthsABoundDecides) {
  add_exact({1, 0.7, 0.85});
  add_method("worse", 2);
  add_timings("worse", 1.3, "box", 0);
  add_method("better", 4.5);
  add_timings("better", 1.1, "box", 0);
  const Json rows = lines();
  ASSERT_EQ(rows.size(), 2U);
  const Json &worse = rows[0]["method"] == "worse" ? rows[0] : rows[1],
             &better = rows[0]["method"] == "worse" ? rows[1] : rows[0];
  EXPECT_EQ(worse["equivalent_place"], "below the shortest");
  EXPECT_TRUE(worse["breakeven"].is_null() && worse["breakeven_hi"].is_null());
  EXPECT_NEAR(worse["breakeven_lo"], 4 / 2.8, 1e-9);
  EXPECT_TRUE(worse["gap_pct"].is_null() && worse["gap_pct_lo"].is_null());
  EXPECT_EQ(worse["pays"], "no");
  EXPECT_EQ(better["equivalent_place"], "above the longest");
  EXPECT_NEAR(better["breakeven_hi"], 1, 1e-9);
  EXPECT_EQ(better["pays"], "yes");
}

TEST_F(BreakevenTest, ExactTrainingOfOneLengthIsAnError) {
  add_exact({1});
  add_method("zero", 3.4);
  EXPECT_EQ(error(),
            "report breakeven: the store has exact training of 1 length beside a method, a curve "
            "takes 3 from half of the method's length on. Add exact_lengths to the experiment and "
            "sweep it again");
  add_exact({0.9});
  EXPECT_THAT(error(), testing::HasSubstr("exact training of 2 lengths"));
  add_exact({0.8});
  EXPECT_EQ(error(), "no error");
}

TEST_F(BreakevenTest, OfAStoreWithoutMethodsIsEmpty) {
  { RunStore store(path_, Mode::kWrite); }
  EXPECT_TRUE(made("breakeven", path_).rows.empty());
  add_exact({1, 0.9});
  EXPECT_TRUE(report().rows.empty());
}

TEST_F(BreakevenTest, NamesTheMethodsWithoutACurve) {
  add_exact({1, 0.7, 0.8});
  add_method("zero", 3.4);
  add_exact({1, 0.8}, "other");
  add_method("zero", 3.4, "other");
  const Table table = report();
  EXPECT_EQ(table.text_rows.size(), 1U);
  EXPECT_THAT(table.notes,
              testing::Contains("left out: zero, all on other, with exact training of 2 of 3 "
                                "lengths"));
}

// One curve is of one recipe but for the length, and no training of less than half of it.
TEST_F(BreakevenTest, TheCurveIsOfOneRecipe) {
  add_exact({1, 0.7, 0.85, 0.45});
  add_method("zero", 3.4);
  Recipe other = shortened(whole_recipe(), 0.9, 0);
  other.label_smoothing = 0.1;
  for (int64_t seed = 0; seed < kSeeds; ++seed) {
    runs_.push_back(trained("dense", seed, other, 30));
    runs_.back().plan.method_label = "dense for less";
  }
  const Json rows = lines();
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0]["exact_lengths"], 3);
  EXPECT_EQ(rows[0]["exact_runs"], 18);
  EXPECT_NEAR(rows[0]["breakeven"], 4 / 3.4, 1e-6);
}

// The rate that was chosen for a method is its row's own, and the curve has that of exact training.
TEST_F(BreakevenTest, AMethodMayHaveARateOfItsOwn) {
  add_exact({1, 0.7, 0.85});
  add_method("zero", 3.4);
  for (auto& run : runs_) {
    if (run.plan.method_label == "zero") run.plan.config.recipe.learning_rate = 0.7;
  }
  fill(runs_);
  auto trials = experiment_of({runs_.front().plan});
  trials.id += ":tune";
  RunStore(path_, Mode::kWrite).add_experiment(trials, "sweep --tune");
  const Table table = made("breakeven", path_);
  EXPECT_EQ(count(table, "zero", "exact_lengths"), 3);
  EXPECT_NEAR(real(table, "zero", "breakeven"), 4 / 3.4, 1e-6);
}

// Under a constant rate the beginning of an exact training is a shorter one.
TEST_F(BreakevenTest, UnderAConstantRateTheCurveIsInTheExactRunsThemselves) {
  Recipe recipe;
  recipe.epochs = 4;
  for (int64_t seed = 0; seed < kSeeds; ++seed) {
    std::vector<double> evaluations;
    for (int64_t epoch = 1; epoch <= 4; ++epoch) {
      evaluations.push_back((curve(static_cast<double>(epoch)) + of_seed(seed)) / 100);
    }
    for (const char* method : {"dense", "zero"}) {
      Ran ran = accuracy(method, seed, evaluations);
      if (ran.plan.method_label == "zero") ran.events[3]["value"] = curve(3.3) / 100;
      ran.plan.config.recipe = recipe;
      runs_.push_back(ran);
    }
  }
  const Table table = report();
  EXPECT_EQ(count(table, "zero", "exact_lengths"), 3) << "2, 3 and 4 epochs";
  EXPECT_EQ(count(table, "zero", "exact_runs"), 18);
  EXPECT_NEAR(real(table, "zero", "breakeven"), 4 / 3.3, 1e-6);
}

TEST_F(BreakevenTest, AVerdictTakesProcessesSixSeedsAndRunsThatDidNotDiverge) {
  add_exact({1, 0.7, 0.85});
  add_method("zero", 3.4);
  add_timings("zero", 1.3, "box", 0);
  fill(runs_);
  const auto told = [&](const std::string& change, const std::string& purpose,
                        const std::string& seeds) {
    SQLite::Database(path_, SQLite::OPEN_READWRITE)
        .exec(fmt::format("UPDATE run SET {} WHERE cell_id IN (SELECT cell_id FROM cell WHERE "
                          "purpose = '{}' AND method = 'zero' AND seed {})",
                          change, purpose, seeds));
    const Table table = made("breakeven", path_);
    return std::get<std::string>(at(table, "zero", "pays")) + ": " +
           std::get<std::string>(at(table, "zero", "reason"));
  };
  EXPECT_EQ(told("timing_valid = 1", "timing", "= 0"), "yes: faster than break-even");
  EXPECT_EQ(told("timing_valid = 0", "timing", ">= 5"), "yes: faster than break-even")
      << "five processes say what is obvious";
  const auto set_shorter = [&](const std::string& state) {
    SQLite::Database(path_, SQLite::OPEN_READWRITE)
        .exec(fmt::format("UPDATE run SET state = '{}' WHERE cell_id = (SELECT cell_id FROM "
                          "experiment_cell WHERE method_label = 'dense for less' AND seed = 3 "
                          "ORDER BY position LIMIT 1)",
                          state));
  };
  set_shorter("failed");
  EXPECT_EQ(told("timing_valid = 1", "timing", "= 0"),
            "undecided: 5 seeds a side, a verdict needs 6")
      << "the length with the fewest counts";
  set_shorter("finished");
  EXPECT_EQ(told("state = 'failed'", "accuracy", "= 3"),
            "undecided: 5 seeds a side, a verdict needs 6");
  EXPECT_EQ(told("timing_valid = 0", "timing", "= 4"),
            "undecided: its speed was timed in 4 processes, a verdict needs 5");
  EXPECT_EQ(told("state = 'diverged'", "accuracy", "= 3"), "no: runs diverged");
}

// A method at break-even by a speedup of 4 / 3.4, and so many timings, two of them on another day.
class BreakevenTimings : public BreakevenTest {
 protected:
  std::string told(double speedup, int64_t processes, double spread, bool two_days) {
    runs_.clear();
    add_exact({1, 0.7, 0.85});
    add_method("zero", 3.4);
    for (int64_t seed = 0; seed < processes; ++seed) {
      const double off = seed % 2 == 0 ? spread : -spread;
      runs_.push_back(timing("zero", static_cast<int64_t>(1000 * speedup * (1 + off)), seed, 0));
      runs_.back().plan.config.recipe = whole_recipe();
    }
    std::filesystem::remove(path_);
    fill(runs_);
    if (two_days) {
      SQLite::Database(path_, SQLite::OPEN_READWRITE)
          .exec(
              "UPDATE run SET started_utc = '2031-01-01T00:00:00Z' WHERE cell_id IN (SELECT "
              "cell_id FROM cell WHERE purpose = 'timing' AND seed < 2)");
    }
    const Table table = made("breakeven", path_);
    return std::get<std::string>(at(table, "zero", "pays")) + ": " +
           std::get<std::string>(at(table, "zero", "reason"));
  }

  static constexpr double kBreakeven = 4 / 3.4;
};

TEST_F(BreakevenTimings, WhatIsNearBreakEvenTakesTwoOccasions) {
  EXPECT_EQ(
      told(1.02 * kBreakeven, 10, 0.001, false),
      "undecided: its speedup is within 3 % of break-even, and was timed on one occasion: time "
      "it again on another day");
  EXPECT_EQ(told(1.02 * kBreakeven, 10, 0.001, true), "yes: faster than break-even");
  EXPECT_EQ(told(1.05 * kBreakeven, 10, 0.001, false), "yes: faster than break-even");
}

TEST_F(BreakevenTimings, FewProcessesDecideWhatIsObviousAlone) {
  // Five processes leave 4 % to either side at 95 %, and 13 % at 99.9 %.
  EXPECT_EQ(told(1.06 * kBreakeven, 5, 0.03, true),
            "undecided: its speedup cannot be told from break-even by 5 processes, 10 may do");
  EXPECT_EQ(told(1.06 * kBreakeven, 10, 0.03, true), "yes: faster than break-even");
  EXPECT_EQ(told(1.2 * kBreakeven, 5, 0.03, true), "yes: faster than break-even");
}

// What the picture draws beside the methods.
TEST_F(BreakevenTest, ProgramsSeeTheExactTrainingsAndTheCurve) {
  add_exact({1, 0.7, 0.85});
  add_method("zero", 3.4);
  add_method("worse", 2);
  const Json exact = lines("exact");
  ASSERT_EQ(exact.size(), 3U) << "once, for both methods";
  EXPECT_NEAR(exact[0]["epochs"], 2.8, 1e-9);
  EXPECT_NEAR(exact[0]["accuracy_pct"], curve(2.8), 1e-9);
  EXPECT_EQ(exact[0]["n"], 6);
  EXPECT_EQ(exact[0]["method"], "dense");
  EXPECT_TRUE(exact[0]["pays"].is_null() && exact[0]["breakeven"].is_null());
  EXPECT_NEAR(exact[2]["epochs"], 4, 1e-9);
  const Json drawn = lines("curve");
  ASSERT_EQ(drawn.size(), 17U);
  EXPECT_NEAR(drawn[0]["epochs"], 2.8, 1e-9);
  EXPECT_NEAR(drawn[0]["accuracy_pct"], curve(2.8), 1e-6) << "a parabola is fitted exactly";
  EXPECT_NEAR(drawn[8]["epochs"], std::sqrt(2.8 * 4), 1e-9);
  EXPECT_NEAR(drawn[8]["accuracy_pct"], curve(std::sqrt(2.8 * 4)), 1e-6);
  EXPECT_NEAR(drawn[16]["epochs"], 4, 1e-9);
}

}  // namespace
}  // namespace approx
