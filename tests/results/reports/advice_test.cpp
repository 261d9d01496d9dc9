// Whether a method is worth using, and what decides it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <ranges>

#include "core/experiment/tuning.h"
#include "results/stats/stats.h"
#include "results/store/database.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

// A margin that is a share of the error would be below 0 where more than everything was right.
TEST_F(ReportTest, AnAccuracyThatIsNoShareIsDamage) {
  fill({accuracy("dense", 0, {0.75}), accuracy("zero", 0, {0.5})});
  for (const char* value : {"1e30", "1.5", "-0.5"}) {
    SQLite::Database(path_, SQLite::OPEN_READWRITE)
        .exec(fmt::format("UPDATE metric SET value = {}", value));
    try {
      made("advice", path_);
      ADD_FAILURE() << value;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kDatabase) << error.what();
    }
  }
  SQLite::Database(path_, SQLite::OPEN_READWRITE).exec("UPDATE metric SET value = 1");
  EXPECT_EQ(made("advice", path_).rows.size(), 1U);
}

// Processes of two machines differ by what the machines do, which no interval over them has.
TEST_F(ReportTest, ASpeedOfTwoMachinesHasNoVerdict) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    runs.push_back(timing("zero", 2000, seed));
    if (seed % 2 == 0) runs.back().environment = environment_of("fast");
  }
  runs.push_back(accuracy("dense", 0, {0.8}));
  fill(runs);
  EXPECT_THAT(std::get<std::string>(at(made("advice", path_), "zero", "reason")),
              testing::HasSubstr("its speed was timed on 2 machines"));
}

// The pairs that decide whether exact training of the same time is better are marked like others.
TEST_F(ReportTest, AdviceSaysWhereItsPairsAreFrom) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.5, 0.8}));
    runs.push_back(accuracy("zero", seed, {0.5, 0.8}));
    runs.back().environment = environment_of("fast");
  }
  for (int64_t seed = 0; seed < 2; ++seed) runs.push_back(timing("zero", 2000, seed));
  fill(runs);
  const Table table = made("advice", path_);
  EXPECT_EQ(count(table, "zero", "iso_time_n"), 6);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "notes")).find("pairs of different machines"),
            std::string::npos);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "machine")), "2 machines");
  EXPECT_NE(render(table, "md").find("in some pairs the dense run was made on another machine"),
            std::string::npos);
}

// Dense and zero for four epochs, evaluated after each but the third, and zero timed at `speedup`
// times as fast. Zero ends a tenth of a point below dense, give or take a hundredth;
// `dense_at_two`: how far below its own end dense is after two epochs.
class WorthTest : public ReportTest {
 protected:
  struct Case {
    int64_t seeds = 6, processes = kProcessesForAVerdict;
    double dense_at_two = 0.05, loss = 0.001, speedup = 2;
    RateSchedule rate = RateSchedule::kConstant;
    bool curve = false;  // evaluated after the third epoch too: exact training of three lengths
  };

  void fill_case(const Case& given) {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < given.seeds; ++seed) {
      const double end = 0.9 + 0.001 * static_cast<double>(seed);
      const double ours = end - given.loss + 0.0002 * static_cast<double>(seed % 2);
      runs.push_back(accuracy("dense", seed, {0.6, end - given.dense_at_two, end - 0.0004, end}));
      runs.push_back(accuracy("zero", seed, {0.5, 0.6, 0.7, ours}));
    }
    if (!given.curve) {
      for (auto& run : runs) run.events.erase(run.events.begin() + 2);
    }
    for (int64_t seed = 0; seed < given.processes; ++seed) {
      runs.push_back(timing("zero", static_cast<int64_t>(1000 * given.speedup), seed, 0));
    }
    for (auto& run : runs) {
      run.plan.config.recipe.epochs = 4;
      run.plan.config.recipe.lr_schedule = given.rate;
    }
    std::filesystem::remove(path_);
    fill(runs);
  }

  static void in_bf16(Ran& run) {
    run.plan.config.precision = Precision::kBf16;
    run.plan.key += "/bf16";
  }

  // "yes, by speed, loss, same time".
  std::string worth(const Case& given, const ReportOptions& options = {}) {
    fill_case(given);
    const Table table = made("advice", path_, options);
    return std::get<std::string>(at(table, "zero", "worth")) + ", by " +
           std::get<std::string>(at(table, "zero", "decided_by"));
  }
};

TEST_F(WorthTest, YesNeedsThreeThings) {
  EXPECT_EQ(worth({}), "yes, by speed, loss, same time");
  const Table table = made("advice", path_);
  EXPECT_NEAR(real(table, "zero", "iso_time_pp"), -5 + 0.1 - 0.01, 1e-9);
  EXPECT_EQ(count(table, "zero", "iso_time_n"), 6);
  EXPECT_NEAR(real(table, "zero", "iso_time_epochs"), 2, 0.01);
  // A tenth of an error of 9.75 %.
  EXPECT_NEAR(real(table, "zero", "margin_pp"), 0.975, 1e-9);

  EXPECT_EQ(worth({.loss = 0.03}), "no, by loss");
  EXPECT_EQ(worth({.speedup = 0.9}), "no, by speed");
  EXPECT_EQ(worth({}, {.margin = 0.05}), "no, by loss") << "a margin of points";
  EXPECT_EQ(worth({}, {.margin = Margin::of_error(0.005)}), "no, by loss");
}

TEST_F(WorthTest, BreakEvenDecidesWhereExactTrainingHasThreeLengths) {
  EXPECT_EQ(worth({.curve = true}), "yes, by speed, loss, break-even");
  const Table table = made("advice", path_);
  const double breakeven = real(table, "zero", "breakeven");
  EXPECT_GT(breakeven, 4 / 4.0);
  EXPECT_LT(breakeven, 4 / 2.5) << "within a point of the end after three epochs";
  EXPECT_THAT(std::get<std::string>(at(table, "zero", "reason")),
              testing::HasSubstr("faster than break-even, 1."));
  EXPECT_THAT(table.text_columns, testing::Contains("break-even"));
  EXPECT_EQ(worth({.processes = 5, .curve = true}), "yes, by speed, loss, break-even");
  EXPECT_EQ(worth({.processes = 4, .curve = true}), "undecided, by speed, break-even");
  // Two epochs of exact training are better than the method: it would have to be twice as fast.
  EXPECT_EQ(worth({.dense_at_two = 0.0008, .loss = 0.002, .speedup = 1.5, .curve = true}),
            "no, by break-even");
  // A curve of few seeds leaves the question to the exact training of the same time.
  EXPECT_EQ(worth({.seeds = 5, .curve = true}), "undecided, by loss, same time");
  worth({});
  EXPECT_THAT(made("advice", path_).text_columns, testing::Not(testing::Contains("break-even")));
}

// Nobody who can train in bfloat16 compares with single precision: the exact step there is what a
// method has to beat, if training loses nothing by it.
TEST_F(WorthTest, AFasterExactStepOfAnotherPrecisionDecides) {
  // zero at twice the exact step in fp32; in bf16 an exact step takes a `gain`th of that.
  const auto told = [&](double gain, double loss, int64_t seeds = 6) {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < 6; ++seed) {
      const double end = 0.9 + 0.001 * static_cast<double>(seed);
      runs.push_back(accuracy("dense", seed, {0.6, end - 0.05, end - 0.0004, end}));
      runs.push_back(accuracy("zero", seed, {0.5, 0.6, 0.7, end - 0.001}));
      if (seed >= seeds) continue;
      runs.push_back(accuracy("dense", seed, {0.6, 0.7, 0.8, end - loss}));
      in_bf16(runs.back());
    }
    for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
      runs.push_back(timing("zero", 2000, seed, 0));
      runs.push_back(timing("zero", static_cast<int64_t>(2000 / gain), seed, 0));
      in_bf16(runs.back());
    }
    for (auto& run : runs) {
      run.plan.config.recipe.epochs = 4;
      run.plan.config.recipe.lr_schedule = RateSchedule::kConstant;
    }
    std::filesystem::remove(path_);
    fill(runs);
    const Table table = made("advice", path_);
    return fmt::format("{} {} {:.2f} {}", std::get<std::string>(at(table, "zero", "worth")),
                       std::get<std::string>(at(table, "zero", "best_exact")),
                       real(table, "zero", "speedup_vs_best"),
                       std::get<std::string>(at(table, "zero", "reason")));
  };
  EXPECT_THAT(told(2.5, 0), testing::StartsWith("no bf16 0.80 slower than exact training in bf16"));
  EXPECT_THAT(
      told(1.25, 0),
      testing::StartsWith("undecided bf16 1.60 no exact training in bf16 of several lengths"));
  EXPECT_THAT(told(0.8, 0), testing::StartsWith("yes fp32 2.00 "));
  // What loses by it, or may, does not stand for exact training.
  EXPECT_THAT(told(2.5, 0.05), testing::StartsWith("yes fp32 2.00 "));
  EXPECT_THAT(
      render(made("advice", path_), "md"),
      testing::HasSubstr("not compared with exact training in bf16 (2.50×, but it loses more "
                         "than 10 % of the dense error)"));
  EXPECT_THAT(told(2.5, 0, 0), testing::StartsWith("yes fp32 2.00 "));
  EXPECT_THAT(render(made("advice", path_), "md"),
              testing::HasSubstr("its accuracy was not measured beside fp32"));
}

TEST_F(WorthTest, OnePrecisionIsSaidFirst) {
  fill_case({});
  const Table table = made("advice", path_);
  ASSERT_FALSE(table.notes.empty());
  EXPECT_EQ(table.notes.front(),
            "compared within fp32: exact training in another precision was not timed here");
  EXPECT_EQ(real(table, "zero", "speedup_vs_best"), real(table, "zero", "speedup"));
}

// Exact training that stops when the method is done is the method to beat.
TEST_F(WorthTest, AnExactTrainingOfTheSameTimeDecides) {
  EXPECT_EQ(worth({.dense_at_two = 0}), "no, by same time");
  // How long the method surely takes few processes do not know.
  EXPECT_EQ(worth({.processes = 9, .dense_at_two = 0}), "undecided, by same time");
  EXPECT_EQ(worth({.dense_at_two = 0.0009}), "undecided, by same time");
  // Two and a half epochs fit: the evaluation after four counts, which gives dense the more time,
  // so that it is not beaten by it and does not beat by it either.
  EXPECT_EQ(worth({.speedup = 1.6}), "undecided, by same time");
  EXPECT_THAT(std::get<std::string>(at(made("advice", path_), "zero", "reason")),
              testing::HasSubstr("whose 4.00 epochs may be longer"));
  EXPECT_NEAR(real(made("advice", path_), "zero", "iso_time_pp"), 0.1 - 0.01, 1e-9);
  // Half of a decaying learning rate is no training of half the time.
  EXPECT_EQ(worth({.rate = RateSchedule::kCosine}), "undecided, by same time");
  EXPECT_EQ(std::get<std::string>(at(made("advice", path_), "zero", "reason")),
            "no exact training of the same time (sweep --controls iso-time)");
}

TEST_F(WorthTest, FiveSeedsAreTooFewForAnyWord) {
  EXPECT_EQ(worth({.seeds = 5}), "undecided, by loss, same time");
  EXPECT_EQ(worth({.seeds = 5, .loss = 0.03}), "undecided, by loss, same time");
}

TEST_F(WorthTest, NoPIsShownThatCannotBeReached) {
  fill_case({});
  const auto shown = [this] { return render(made("advice", path_), "md"); };
  EXPECT_THAT(shown(), testing::HasSubstr("(n=6, p=0.031)")) << "one loss takes six seeds";
  EXPECT_THAT(shown(), testing::HasSubstr("(n=6, p=0.031, 2.00 epochs)"));
  fill_case({.seeds = 5});
  EXPECT_THAT(shown(), testing::HasSubstr("(n=5)"));
  EXPECT_THAT(shown(), testing::HasSubstr("(n=5, 2.00 epochs)"));
  EXPECT_THAT(shown(), testing::Not(testing::HasSubstr("p=0.062")));
}

// The target is dense's median less half a point; after two epochs dense is five below it.
TEST_F(WorthTest, TimeToTargetStandsBesideIt) {
  fill_case({});
  const Table table = made("advice", path_);
  EXPECT_EQ(count(table, "zero", "target_runs"), 6);
  EXPECT_GT(count(table, "zero", "target_reached"), 0);
  EXPECT_EQ(count(table, "zero", "iso_time_runs"), 6);
  EXPECT_EQ(count(table, "zero", "iso_time_reached"), 0);
  fill_case({.dense_at_two = 0});
  EXPECT_GT(count(made("advice", path_), "zero", "iso_time_reached"), 0);
}

TEST(MarginTest, IsInPointsOrAShareOfTheDenseError) {
  EXPECT_EQ(parse_margin("0.5")->points(30), 0.5);
  EXPECT_EQ(parse_margin(" 2 pp")->text(), "2 points");
  EXPECT_EQ(parse_margin("10%")->points(30), 3);
  EXPECT_EQ(parse_margin("10 %")->text(), "10 % of the dense error");
  for (const char* wrong : {"", "x", "0", "-1", "101", "0%", "nan", "1%%", "5pp%", "inf"}) {
    EXPECT_FALSE(parse_margin(wrong)) << wrong;
  }
}

// A zero that trains as well as dense and is timed in so many processes, at `ns` for dense against
// 1000, give or take `spread`.
class SpeedTest : public ReportTest {
 protected:
  std::string told(int64_t processes, int64_t ns, int64_t spread = 0) {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < 6; ++seed) {
      runs.push_back(accuracy("dense", seed, {0.9}));
      runs.push_back(accuracy("zero", seed, {0.9}));
    }
    for (int64_t seed = 0; seed < processes; ++seed) {
      runs.push_back(timing("zero", ns + (seed % 2 == 0 ? spread : -spread), seed, 0));
    }
    std::filesystem::remove(path_);
    fill(runs);
    return told();
  }

  // Whether it is undecided by its speed, and its reason.
  std::string told() {
    const Table table = made("advice", path_);
    const auto decided_by = std::get<std::string>(at(table, "zero", "decided_by"));
    const bool by_speed = decided_by.find("speed") != std::string::npos;
    return by_speed ? std::get<std::string>(at(table, "zero", "worth")) + ": " +
                          std::get<std::string>(at(table, "zero", "reason"))
                    : "faster";
  }
};

TEST_F(SpeedTest, FewProcessesDecideWhatIsObviousAlone) {
  EXPECT_THAT(told(4, 1200),
              testing::StartsWith("undecided: its speed was timed in 4 processes, a verdict needs "
                                  "5"));
  EXPECT_EQ(told(5, 1200), "faster");
  EXPECT_EQ(told(5, 900), "no: slower than dense");
  // Ratios of 1.3 and 1.1 in turn, 1.22 by the mean logarithm of five: half of the interval of 95 %
  // is 11 % for five processes and 6 % for ten, that of 99.9 % 35 % for five.
  EXPECT_THAT(told(5, 1200, 100),
              testing::StartsWith("undecided: its speedup cannot be told from 1 by 5 processes, 10 "
                                  "may do"));
  EXPECT_EQ(told(10, 1200, 100), "faster");
}

// However narrow the interval of one day's timings is, another day's may be 3 % off.
TEST_F(SpeedTest, WhatIsNearOneTakesTwoOccasions) {
  EXPECT_THAT(told(10, 1029), testing::HasSubstr("within 3 % of 1, and was timed on one occasion"));
  EXPECT_EQ(told(10, 1031), "faster");
  EXPECT_THAT(told(10, 1029), testing::StartsWith("undecided"));
  SQLite::Database(path_, SQLite::OPEN_READWRITE)
      .exec("UPDATE run SET started_utc = '2025-01-01T00:00:00Z' WHERE run_id % 2 = 0");
  EXPECT_EQ(told(), "faster");
}

// What was lost at the highest rate that was tried may be the rate's.
TEST_F(WorthTest, AccuraciesDecideWhereTheRatesAreEnclosed) {
  const double kRate = RunConfig().recipe.learning_rate;
  // Trials of one rate: the share of held-out images that each of two seeds reached.
  const auto trials_of = [](const std::string& method, double rate, double reached) {
    std::vector<Ran> trials;
    for (int64_t seed = 100; seed < 102; ++seed) {
      Ran trial = accuracy(method, seed, {0.5, 0.6, 0.7, reached});
      trial.plan.config.recipe = {.learning_rate = rate, .epochs = 4};
      trial.plan.config.split = SplitKind::kHoldout;
      trial.plan.key += fmt::format("/{}", rate);
      for (auto& event : trial.events) {
        if (event.value("split", "") == "test") event["split"] = "holdout";
      }
      trials.push_back(std::move(trial));
    }
    return trials;
  };
  const auto told = [&](std::vector<std::vector<Ran>> all) {
    fill_case({.loss = 0.03});
    std::vector<Ran> trials;
    for (const auto& some : all) trials.insert(trials.end(), some.begin(), some.end());
    std::vector<PlannedRun> plans;
    for (const auto& trial : trials) plans.push_back(trial.plan);
    auto tuning = experiment_of(plans);
    tuning.id += ":tune";
    RunStore store(path_, Mode::kWrite);
    store.add_experiment(tuning, "sweep --tune");
    for (const auto& trial : trials) {
      const auto id = store.begin(trial.plan.key, trial.environment, path_ + "-runs");
      if (id) store.finish(*id, trial.events, trial.end);
    }
    const Table table = made("advice", path_);
    return std::get<std::string>(at(table, "zero", "worth")) + ": " +
           std::get<std::string>(at(table, "zero", "reason"));
  };
  const auto enclosed = [&](const std::string& method) {
    return std::vector{trials_of(method, kRate / 2, 0.8), trials_of(method, kRate, 0.9),
                       trials_of(method, 2 * kRate, 0.85)};
  };
  const auto both = [&](std::vector<std::vector<Ran>> zero, std::vector<std::vector<Ran>> dense) {
    zero.insert(zero.end(), dense.begin(), dense.end());
    return told(zero);
  };
  EXPECT_THAT(both(enclosed("zero"), enclosed("dense")), testing::StartsWith("no: loses more"));
  auto open = enclosed("zero");
  open.pop_back();
  EXPECT_THAT(both(open, enclosed("dense")),
              testing::AllOf(testing::StartsWith("undecided: loses more than "),
                             testing::HasSubstr("but its learning rate is not enclosed: 0.1 is the "
                                                "highest that was tried")));
  open = enclosed("dense");
  open.erase(open.begin());
  EXPECT_THAT(both(enclosed("zero"), open),
              testing::HasSubstr("but the learning rate of exact training is not enclosed: 0.1 is "
                                 "the lowest that was tried"));
  EXPECT_THAT(both({}, enclosed("dense")),
              testing::HasSubstr("its learning rate is not enclosed: no other was tried for it"));
  // A rate that lacks a seed is no end.
  open = enclosed("zero");
  open.front().pop_back();
  EXPECT_THAT(both(open, enclosed("dense")),
              testing::HasSubstr("0.1 is the lowest that was tried"));
  const Table table = made("advice", path_);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "loss_verdict")), "INCONCLUSIVE");
  // The best of ten classes' guesses is no rate to go by.
  const std::vector guesses = {trials_of("zero", kRate / 2, 0.102), trials_of("zero", kRate, 0.108),
                               trials_of("zero", 2 * kRate, 0.1)};
  EXPECT_THAT(both(guesses, enclosed("dense")),
              testing::HasSubstr("every rate that was tried diverged or ended no better than by "
                                 "guessing"));
}

// Methods that wait for their learning rates are of the family that was declared.
TEST_F(ReportTest, AnArmThatIsNotTunedYetIsDeclared) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    const double base = 0.8 + 0.001 * static_cast<double>(seed);
    runs.push_back(accuracy("dense", seed, {base}));
    runs.push_back(accuracy("zero", seed, {base - 0.03}));
    for (const char* label : {"waiting", "dense", "dense for 2 epochs"}) {
      Ran waiting = accuracy("random", seed, {});
      waiting.events.clear();
      waiting.plan.method_label = label;
      waiting.plan.excluded = kNotTuned;
      waiting.plan.key.clear();
      runs.push_back(waiting);
    }
  }
  fill(runs);
  const Table table = made("advice", path_);
  EXPECT_EQ(real(table, "zero", "loss_p"), 1.0 / 32);
  EXPECT_EQ(real(table, "zero", "loss_p_holm"), 2.0 / 32);
}

// The words stand beside a margin that was asked for; programs always read them.
TEST_F(ReportTest, ALossBesideAMarginHasAWord) {
  const auto word = [&](int64_t seeds, double loss, bool diverged = false) {
    std::filesystem::remove(path_);
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < seeds; ++seed) {
      const double wiggle = 0.001 * static_cast<double>(seed % 3);
      runs.push_back(accuracy("dense", seed, {0.8}));
      runs.push_back(accuracy("zero", seed, {0.8 - loss - wiggle}));
    }
    if (diverged) {
      runs.back().events.back()["state"] = "diverged";
      runs.back().end.state = RunState::kDiverged;
    }
    fill(runs);
    const Table asked = made("advice", path_, {.margin = 1.0});
    EXPECT_EQ(std::ranges::count(asked.text_columns, "loss within the margin"), 1);
    EXPECT_EQ(std::ranges::count(made("advice", path_).text_columns, "loss within the margin"), 0);
    return std::get<std::string>(at(asked, "zero", "loss_verdict"));
  };
  EXPECT_EQ(word(6, 0.002), "NON-INFERIOR");
  EXPECT_EQ(word(6, 0.03), "INFERIOR");
  EXPECT_EQ(word(6, 0.009), "INCONCLUSIVE");
  EXPECT_EQ(word(5, 0.03), "INCONCLUSIVE") << "too few seeds";
  EXPECT_EQ(word(6, 0.002, /*diverged=*/true), "INFERIOR");
}

// A tenth of an error that nobody measured is no number.
TEST_F(ReportTest, WhatWasTimedAloneHasNoMargin) {
  fill({timing("zero", 2000)});
  const Table table = made("advice", path_);
  EXPECT_EQ(at(table, "zero", "margin_pp").index(), 0u);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "reason")).find("not measured beside dense"),
            std::string::npos);
}

// The exact training of the same time has as long as the method may take: what has less may show
// that the method is worse, and not that it is better.
TEST_F(ReportTest, TheControlHasAsLongAsTheMethodMayTake) {
  std::vector<Ran> runs;
  const auto add_control = [&](int64_t epochs, double last_epoch, double lead) {
    for (int64_t seed = 0; seed < 6; ++seed) {
      Ran run = accuracy("dense", seed, {0.8 + lead + 0.001 * static_cast<double>(seed)});
      for (auto& event : run.events) {
        if (event.contains("epoch")) {
          event["epoch"] = static_cast<double>(epochs - 1) + last_epoch;
        }
      }
      run.plan.config.recipe.epochs = epochs;
      run.plan.config.recipe.last_epoch = last_epoch;
      run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
      run.plan.config.recipe.eval_every = 1;
      run.plan.method_label = "dense in the time of zero";
      run.plan.key += fmt::format("-control-{}-{}", epochs, last_epoch);
      runs.push_back(run);
    }
  };
  for (int64_t seed = 0; seed < 6; ++seed) {
    for (const char* method : {"dense", "zero"}) {
      Ran run = accuracy(method, seed, {0.8 + 0.001 * static_cast<double>(seed)});
      run.plan.config.recipe.epochs = 4;
      run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
      runs.push_back(run);
    }
  }
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    // From 1.25 down to about 1.235: 3.2 epochs fit, or up to 3.24.
    runs.push_back(timing("zero", 1225 + 50 * (seed % 2), seed));
    runs.back().plan.config.recipe.epochs = 4;
    runs.back().plan.config.recipe.lr_schedule = RateSchedule::kCosine;
  }
  const auto advice = [&] {
    std::filesystem::remove(path_);
    fill(runs);
    return made("advice", path_);
  };
  const auto worth = [](const Table& table) {
    return std::get<std::string>(at(table, "zero", "worth"));
  };
  add_control(4, 0.15, -0.04);  // more than a fiftieth of the training away
  add_control(4, 0.33, 0.04);
  EXPECT_EQ(count(advice(), "zero", "iso_time_n"), 0);
  add_control(4, 0.2, -0.02);  // as long as the method takes by the estimate
  Table table = advice();
  EXPECT_NEAR(real(table, "zero", "iso_time_pp"), -2, 1e-9);
  EXPECT_NEAR(real(table, "zero", "iso_time_trained"), 3.2, 1e-9);
  EXPECT_NEAR(real(table, "zero", "iso_time_epochs"), 3.24, 0.015);
  EXPECT_NEAR(real(table, "zero", "iso_time_p"), 2.0 / 64, 1e-9);
  EXPECT_EQ(worth(table), "undecided");
  EXPECT_NE(std::get<std::string>(at(table, "zero", "reason")).find("which had 3.20 of the 3.2"),
            std::string::npos);
  add_control(4, 0.29, -0.01);
  table = advice();
  EXPECT_NEAR(real(table, "zero", "iso_time_trained"), 3.29, 1e-9);
  EXPECT_EQ(worth(table), "yes");
  add_control(4, 0.27, 0.01);  // of those that have enough the shortest
  table = advice();
  EXPECT_NEAR(real(table, "zero", "iso_time_trained"), 3.27, 1e-9);
  EXPECT_EQ(worth(table), "undecided");
  EXPECT_THAT(std::get<std::string>(at(table, "zero", "reason")),
              testing::HasSubstr("whose 3.27 epochs may be longer"));
  add_control(4, 0.14, 0.02);  // the method surely takes 3.148
  table = advice();
  EXPECT_EQ(worth(table), "no");
  EXPECT_THAT(
      std::get<std::string>(at(table, "zero", "reason")),
      testing::HasSubstr("-2.00 ± 0.00 points ahead of dense in no more time, 3.14 epochs"));
  // A control has the learning rate of the exact training, whichever the method was tuned to.
  for (auto& run : runs) {
    if (run.plan.method_label == "zero") run.plan.config.recipe.learning_rate = 0.7;
  }
  const auto tuned_advice = [&] {
    std::filesystem::remove(path_);
    fill(runs);
    auto trials = experiment_of({runs.front().plan});
    trials.id += ":tune";
    RunStore(path_, Mode::kWrite).add_experiment(trials, "sweep --tune");
    return made("advice", path_);
  };
  EXPECT_NEAR(real(tuned_advice(), "zero", "iso_time_trained"), 3.27, 1e-9);
  for (auto& run : runs) {
    if (run.plan.config.recipe.last_epoch == 0.27) run.plan.config.recipe.learning_rate = 0.7;
  }
  EXPECT_NEAR(real(tuned_advice(), "zero", "iso_time_trained"), 3.29, 1e-9);
}

// The control that a row is held against has all of its settings but those that are shortened.
TEST_F(ReportTest, AControlOfOtherSettingsControlsNothing) {
  std::vector<Ran> runs;
  const auto control = [](int64_t seed, int64_t batch, double accuracy) {
    Ran run = ReportTest::accuracy("dense", seed, {0.5, accuracy});
    run.plan.config.recipe.epochs = 2;
    run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
    run.plan.config.recipe.eval_every = 1;
    run.plan.config.batch_size = batch;
    run.plan.method_label = "dense in the time of zero";
    run.plan.key += fmt::format("-control-{}", batch);
    return run;
  };
  for (int64_t seed = 0; seed < 6; ++seed) {
    const double base = 0.8 + 0.001 * static_cast<double>(seed);
    for (const char* method : {"dense", "zero"}) {
      Ran run = accuracy(method, seed, {base});
      run.plan.config.recipe.epochs = 4;
      run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
      runs.push_back(run);
    }
    runs.push_back(control(seed, 32, base + 0.05));
  }
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    runs.push_back(timing("zero", 2000, seed, 0));
    runs.back().plan.config.recipe.epochs = 4;
    runs.back().plan.config.recipe.lr_schedule = RateSchedule::kCosine;
  }
  fill(runs);
  EXPECT_EQ(std::get<std::string>(at(made("advice", path_), "zero", "worth")), "undecided");
  EXPECT_EQ(count(made("advice", path_), "zero", "iso_time_n"), 0);
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(control(seed, 100, 0.85 + 0.001 * static_cast<double>(seed)));
  }
  std::filesystem::remove(path_);
  fill(runs);
  EXPECT_EQ(std::get<std::string>(at(made("advice", path_), "zero", "worth")), "no");
  EXPECT_NEAR(real(made("advice", path_), "zero", "iso_time_pp"), 5, 1e-9);
}

}  // namespace
}  // namespace approx
