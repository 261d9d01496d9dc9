// Times and steps to a target.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "results/rows/derived_target.h"
#include "results/rows/target_rows.h"
#include "results/store/maintenance.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

// One target for all rows of a table, and no other below it.
TEST_F(ThreeSeeds, ATargetThatIsAskedForIsTheOneOfTheTable) {
  fill_three();
  const ReportOptions asked{.target = 0.7};
  const Table table = made("table", path_, asked);
  EXPECT_DOUBLE_EQ(real(table, "dense", "target"), 0.7);
  EXPECT_EQ(count(table, "dense", "target_reached"), 3);
  EXPECT_NEAR(real(table, "dense", "time_to_target_s"), 5.0 / 3, 1e-12);
  EXPECT_EQ(count(table, "zero", "target_reached"), 2);
  const std::string text = render(table, "md");
  EXPECT_NE(text.find("- target: 70 % accuracy"), std::string::npos) << text;
  EXPECT_EQ(text.find("80 % accuracy"), std::string::npos);
  EXPECT_EQ(count(made("tta", path_, asked), "zero", "reached"), 2) << "as of every other report";
}

TEST_F(ThreeSeeds, ATargetIsRoundedAlikeInAllReports) {
  fill_three();
  const ReportOptions asked{.target = 0.154363057325};
  for (const Table& table : {made("tta", path_, asked), made("advice", path_, asked)}) {
    const std::string text = render(table, "md");
    EXPECT_NE(text.find("15.44 %"), std::string::npos) << text;
    EXPECT_EQ(text.find("15.436"), std::string::npos) << text;
  }
}

TEST_F(ThreeSeeds, TimeToTargetCountsRunsThatNeverReachIt) {
  fill_three();
  const Table table = made("tta", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(count(table, "zero", "runs"), 3);
  EXPECT_EQ(count(table, "zero", "reached"), 1);
  EXPECT_NEAR(real(table, "zero", "fraction"), 1.0 / 3, 1e-12);
  // Two runs of 2 s that did not reach it and one of 2 s that did: 6 s a success.
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), 6);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 2);
  EXPECT_DOUBLE_EQ(real(table, "dense", "restart_s"), 2.5);  // 2 + 2 + 1 s, two successes
  EXPECT_DOUBLE_EQ(real(table, "dense", "median_s"), 2);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "step_time_source")), "timing runs");
  // Seed 2 alone reached it in both, at 2 against 1 epochs: of it alone no ratio is made.
  EXPECT_EQ(at(table, "zero", "steps_ratio").index(), 0u);
  EXPECT_EQ(at(table, "zero", "speedup").index(), 0u);
  EXPECT_EQ(count(table, "zero", "pairs"), 3);
  EXPECT_EQ(count(table, "zero", "pairs_arrived"), 1);
  EXPECT_THAT(render(table, "md"), testing::HasSubstr("– (1/3 pairs arrived)"));
  EXPECT_THAT(render(table, "md"), testing::HasSubstr("flatter methods that fail more often"));

  // All arrive at the first evaluation: when before it nobody saw.
  const Table easier = made("tta", path_, {.target = 0.5});
  EXPECT_EQ(count(easier, "zero", "reached"), 3);
  EXPECT_EQ(std::get<std::string>(at(easier, "zero", "target_origin")), "given");
  EXPECT_EQ(count(easier, "zero", "pairs_arrived"), 3);
  EXPECT_EQ(count(easier, "zero", "same_evaluation"), 1);
  EXPECT_DOUBLE_EQ(real(easier, "zero", "steps_ratio"), 1);
  EXPECT_EQ(at(easier, "zero", "speedup").index(), 0u);
  EXPECT_THAT(render(easier, "md"), testing::HasSubstr("– (same evaluation)"));
}

// Composed: of the steps of all pairs and the step time of the timing runs.
TEST_F(ReportTest, TimeToTargetIsStepsAndStepTimes) {
  fill({accuracy("dense", 0, {0.1, 0.8}), accuracy("dense", 1, {0.8, 0.8}),
        accuracy("zero", 0, {0.8, 0.8}), accuracy("zero", 1, {0.8, 0.8}), timing("zero", 3000)},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_NEAR(real(table, "zero", "steps_ratio"), std::sqrt(2), 1e-12);
  EXPECT_NEAR(real(table, "zero", "speedup"), 3 * std::sqrt(2), 0.01);
  EXPECT_EQ(count(table, "zero", "same_evaluation"), 0);
}

// A training that diverged is begun anew at once, and does not take the whole budget.
TEST_F(ReportTest, RestartsCountADivergedRunForAsLongAsItLasted) {
  Ran diverged{planned("zero", 0), accuracy_events({0.1}, RunState::kDiverged)};
  fill({diverged, accuracy("zero", 1, {0.1, 0.1, 0.8})}, Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), 1 + 3);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 3);
}

// Runs that reached the target early were watched on, so they do not shorten what the others are
// watched for; nor does one that diverged early.
TEST_F(ReportTest, TheBudgetIsHowLongTheRunsWereTrained) {
  Ran diverged{planned("random", 0), accuracy_events({0.1}, RunState::kDiverged)};
  fill({accuracy("dense", 0, {0.8, 0.8, 0.8}), accuracy("dense", 1, {0.8, 0.8, 0.8}),
        accuracy("zero", 0, {0.1, 0.2, 0.3}), accuracy("zero", 1, {0.1, 0.2, 0.8}), diverged},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  for (const char* method : {"dense", "zero", "random"}) {
    EXPECT_DOUBLE_EQ(real(table, method, "budget_s"), 3) << method;
  }
  EXPECT_DOUBLE_EQ(real(table, "dense", "restricted_mean_s"), 1);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 3);
  EXPECT_DOUBLE_EQ(real(table, "random", "restricted_mean_s"), 3);
}

// Runs that something from outside ended had not reached the target by their last evaluation; more
// is not known of them, and less would be to leave them out. Of one that failed nobody knows.
TEST_F(ReportTest, RunsThatWereCutOffAreCensoredAtTheirLastEvaluation) {
  const auto cut = [](int64_t seed, const std::vector<double>& curve, RunState state) {
    Ran ran{planned("zero", seed), {}};
    for (size_t i = 0; i < curve.size(); ++i) {
      ran.events.push_back(accuracy_event(static_cast<int64_t>(i) + 1, curve[i]));
    }
    ran.end = {.state = state, .error = "ended from outside"};
    return ran;
  };
  fill({accuracy("zero", 0, {0.2, 0.8, 0.8, 0.8}), cut(1, {0.1, 0.2}, RunState::kTimeout),
        accuracy("zero", 2, {0.1, 0.1, 0.8, 0.8}), cut(3, {0.1}, RunState::kInterrupted),
        cut(4, {0.1}, RunState::kFailed), accuracy("zero", 5, {0.1, 0.1, 0.1, 0.1}),
        cut(6, {}, RunState::kLost)},  // nothing is known
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(count(table, "zero", "runs"), 5);
  EXPECT_EQ(count(table, "zero", "reached"), 2);
  EXPECT_EQ(count(table, "zero", "cut_off"), 2);
  // Kaplan and Meier: after 2 s one of four at risk (the run of 1 s is no more), after 3 s one of
  // two (nor that of 2 s): 3/4, then 3/8.
  EXPECT_DOUBLE_EQ(real(table, "zero", "median_s"), 3);
  EXPECT_DOUBLE_EQ(real(table, "zero", "budget_s"), 4);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restricted_mean_s"), 2 + 0.75 + 0.375);
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), (2 + 2 + 3 + 1 + 4) / 2.0);
  EXPECT_NE(render(table, "md").find("2 runs were cut off by a limit"), std::string::npos);
  const Table all = made("table", path_);
  EXPECT_EQ(count(all, "zero", "target_runs"), 5);
  EXPECT_EQ(count(all, "zero", "target_reached"), 2);
  EXPECT_NEAR(real(all, "zero", "accuracy_pct"), (80 + 80 + 10) / 3.0, 1e-9);
}

// Each letter below the table stands in it, and they begin with a.
TEST_F(ReportTest, TimesToATargetHaveTheirLettersWithoutGaps) {
  const auto text_with = [&](double zero, bool timed) {
    std::filesystem::remove(path_);
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < 2; ++seed) {
      runs.push_back(accuracy("dense", seed, {0.1, 0.8}));
      runs.push_back(accuracy("zero", seed, {zero, 0.8}));
      if (timed) runs.push_back(timing("zero", 2000, seed));
    }
    fill(runs, Target{"accuracy", 0.75});
    return render(made("tta", path_), "md");
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const std::string composed = text_with(0.8, true);
  EXPECT_TRUE(has(composed, "× [a] |") || has(composed, "] [a] |")) << composed;
  EXPECT_TRUE(has(composed, "- a: the speedup is composed") && has(composed, "- b: fewer than 5"));
  // Both arrive at the same evaluation, so there is no speedup to be composed.
  const std::string none = text_with(0.1, true);
  EXPECT_FALSE(has(none, "the speedup is composed")) << none;
  EXPECT_TRUE(has(none, "| dense [a]") && has(none, "- a: fewer than 5 seeds")) << none;
  const std::string shared = text_with(0.8, false);
  EXPECT_TRUE(has(shared, "- a: step times of the accuracy runs") &&
              has(shared, "- b: fewer than 5") && has(shared, "[a] |"))
      << shared;
}

// One that had reached it before it was cut off has reached it.
TEST_F(ReportTest, ACutOffRunMayHaveReachedTheTarget) {
  Ran late{planned("zero", 1), {accuracy_event(1, 0.8), accuracy_event(2, 0.7)}};
  late.end.state = RunState::kTimeout;
  fill({accuracy("zero", 0, {0.1, 0.1}), late}, Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(count(table, "zero", "runs"), 2);
  EXPECT_EQ(count(table, "zero", "reached"), 1);
  EXPECT_EQ(count(table, "zero", "cut_off"), 0);
}

// What ends at its target has a time and no accuracy; of a seed that also went to the end it is no
// second run.
TEST_F(ReportTest, RunsThatStopAtATargetHaveATimeAndNoAccuracy) {
  const auto stopped = [](const std::string& method, int64_t seed, std::vector<double> curve) {
    auto ran = accuracy(method, seed, std::move(curve));
    ran.plan.config.stop_at = 0.75;
    ran.plan.key += "/stops";
    return ran;
  };
  fill({accuracy("dense", 0, {0.1, 0.8, 0.9}), stopped("dense", 1, {0.76}),
        accuracy("zero", 0, {0.1, 0.2, 0.8}), stopped("zero", 0, {0.1, 0.2, 0.8}),
        stopped("zero", 1, {0.1, 0.77}), stopped("random", 0, {0.1, 0.78})},
       Target{"accuracy", 0.75});
  const Table table = made("table", path_);
  EXPECT_EQ(table.rows.size(), 3u);
  EXPECT_EQ(count(table, "zero", "n"), 1);
  EXPECT_NEAR(real(table, "zero", "accuracy_pct"), 80, 1e-9);
  EXPECT_NEAR(real(table, "zero", "best_accuracy_pct"), 80, 1e-9);
  EXPECT_EQ(at(table, "random", "accuracy_pct").index(), 0u);
  EXPECT_EQ(count(table, "zero", "planned"), 2);
  EXPECT_EQ(count(table, "zero", "target_runs"), 2);
  const std::string notes = std::get<std::string>(at(table, "zero", "notes"));
  EXPECT_NE(notes.find("stopped at a target"), std::string::npos) << notes;

  const Table tta = made("tta", path_);
  EXPECT_EQ(count(tta, "zero", "runs"), 2);
  EXPECT_EQ(count(tta, "zero", "reached"), 2);
  EXPECT_EQ(count(tta, "zero", "stopped_at_target"), 1);
  // Those to the end say how far all were watched; those that stopped were not cut short.
  EXPECT_DOUBLE_EQ(real(tta, "zero", "budget_s"), 3);
  EXPECT_DOUBLE_EQ(real(tta, "random", "median_s"), 2);
  // Pairs: 2 s against 3 s of two whole runs, 1 s against 2 s of two that stopped.
  EXPECT_NEAR(real(tta, "zero", "steps_ratio"), std::sqrt(2.0 / 3 * 1.0 / 2), 1e-12);

  // A higher target than that at which they stopped: nothing is known of just those that were fast.
  const Table higher = made("tta", path_, {.target = 0.79});
  EXPECT_EQ(count(higher, "zero", "runs"), 1);
  EXPECT_NE(render(higher, "md").find("left out: 3 runs that stopped at a lower target"),
            std::string::npos)
      << render(higher, "md");
  EXPECT_EQ(count(made("tta", path_, {.target = 0.5}), "zero", "runs"), 2);

  EXPECT_EQ(query(path_, "SELECT method, seed FROM v_final ORDER BY 1, 2"),
            (std::vector<std::string>{"dense|0", "zero|0"}));
  for (const auto& violation : check_store(path_)) {
    EXPECT_EQ(violation.find("one grid"), std::string::npos) << violation;
    EXPECT_EQ(violation.find("views agree"), std::string::npos) << violation;
  }
}

// A patience ends runs that gain nothing: censored there, and all of them without an accuracy.
TEST_F(ReportTest, RunsThatTheirPatienceEndedAreCensored) {
  const auto patient = [](int64_t seed, std::vector<double> curve, const char* ended_by) {
    auto ran = accuracy("zero", seed, std::move(curve));
    ran.plan.config.recipe.epochs = 6;
    ran.plan.config.patience = 2;
    ran.plan.key += "/patient";
    ran.events.back()["ended_by"] = ended_by;
    return ran;
  };
  fill({patient(0, {0.1, 0.2, 0.2, 0.2}, "patience"), patient(1, {0.2, 0.8, 0.8, 0.8}, "patience"),
        patient(2, {0.1, 0.2, 0.3, 0.4, 0.5, 0.8}, "")},
       Target{"accuracy", 0.75});
  const Table tta = made("tta", path_);
  EXPECT_EQ(count(tta, "zero", "runs"), 3);
  EXPECT_EQ(count(tta, "zero", "reached"), 2);
  EXPECT_EQ(count(tta, "zero", "out_of_patience"), 1) << "one had reached it before";
  EXPECT_EQ(count(tta, "zero", "cut_off"), 0);
  EXPECT_EQ(count(tta, "zero", "stopped_at_target"), 0);
  // Kaplan and Meier: one of three at 2 s; that of 4 s is censored; the last at 6 s.
  EXPECT_DOUBLE_EQ(real(tta, "zero", "median_s"), 6);
  EXPECT_DOUBLE_EQ(real(tta, "zero", "budget_s"), 6) << "the one to the end says how long all were";
  EXPECT_DOUBLE_EQ(real(tta, "zero", "restricted_mean_s"), 2 + 4 * 2.0 / 3);
  EXPECT_NE(render(tta, "md").find("a run was ended by a patience before the target"),
            std::string::npos)
      << render(tta, "md");
  EXPECT_EQ(render(made("tta", path_, {.target = 0.9}), "md").find("left out"), std::string::npos)
      << "a patience is no lower target";

  const Table table = made("table", path_);
  EXPECT_EQ(count(table, "zero", "n"), 0);
  EXPECT_EQ(count(table, "zero", "finished"), 3) << "no failure";
  EXPECT_EQ(at(table, "zero", "accuracy_pct").index(), 0u);
  const std::string notes = std::get<std::string>(at(table, "zero", "notes"));
  EXPECT_NE(notes.find("ends by a patience"), std::string::npos) << notes;
  EXPECT_EQ(query(path_, "SELECT * FROM v_final"), std::vector<std::string>());
  EXPECT_EQ(query(path_, "SELECT patience FROM v_cell"), (std::vector<std::string>(3, "2")));
  EXPECT_EQ(query(path_, "SELECT ended_by FROM run ORDER BY run_id"),
            (std::vector<std::string>{"patience", "patience", ""}));
  for (const auto& violation : check_store(path_)) {
    for (const char* rule : {"one grid", "views agree", "early ends", "ended early"}) {
      EXPECT_EQ(violation.find(rule), std::string::npos) << violation;
    }
  }
}

TEST_F(ReportTest, TimesToTargetOfTwoMachinesAreNotPaired) {
  auto elsewhere = accuracy("zero", 0, {0.8});
  elsewhere.environment = environment_of("fast");
  fill({accuracy("dense", 0, {0.1, 0.8}), elsewhere, accuracy("zero", 1, {0.8})},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(at(table, "zero", "steps_ratio").index(), 0u);
  EXPECT_EQ(at(table, "zero", "speedup").index(), 0u);
  EXPECT_NE(std::get<std::string>(at(table, "zero", "notes")).find("mixed hosts"),
            std::string::npos);
  EXPECT_EQ(at(table, "zero", "restricted_mean_s").index(), 0u);
  EXPECT_EQ(at(table, "dense", "budget_s").index(), 0u);
  EXPECT_NE(render(table, "md").find("no restricted mean if"), std::string::npos);
  const Table profile = made("profile", path_);
  EXPECT_EQ(profile.notes[0], "left out: lenet on mnist, whose times are of 2 machines");
  EXPECT_TRUE(profile.rows.empty());
}

TEST_F(ReportTest, StepsToTargetOfTwoMachinesArePairedWhereTimingsSayHowLongOneTakes) {
  auto elsewhere = accuracy("zero", 0, {0.8});
  elsewhere.environment = environment_of("fast");
  fill({accuracy("dense", 0, {0.1, 0.8}), elsewhere, timing("zero", 3000)},
       Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_DOUBLE_EQ(real(table, "zero", "steps_ratio"), 2);
  EXPECT_NEAR(real(table, "zero", "speedup"), 6, 0.01);
}

TEST_F(ReportTest, WithoutATargetItComesFromDense) {
  fill({accuracy("dense", 0, {0.5, 0.75}), accuracy("zero", 0, {0.5, 0.7})});
  const Table table = made("tta", path_, {.margin = 5});
  EXPECT_NEAR(real(table, "zero", "target_pct"), 70, 1e-9);
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "target_origin")),
            "median best of 1 dense run less 5 points");
}

// Twelve exact trainings whose best accuracies are 80, 81 ... 91 %, and two of a method.
class DerivedTargets : public ReportTest {
 protected:
  void fill_twelve(int64_t seeds = 12) {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < seeds; ++seed) {
      runs.push_back(accuracy("dense", seed, {0.80 + 0.01 * static_cast<double>(seed), 0.5}));
    }
    for (int64_t seed = 0; seed < 2; ++seed) runs.push_back(accuracy("zero", seed, {0.6, 0.9}));
    fill(runs);
  }

  // As `db target` does.
  void store_target(const Margin& margin, const std::string& asked = "") {
    const Snapshot snapshot(path_);
    const RowSet set(snapshot, {.experiment = asked});
    RunStore(path_, Mode::kWrite)
        .add_study(environment_of()["engine"],
                   target_record(derive_targets(set, margin), margin, asked));
  }
};

TEST_F(DerivedTargets, AreTheMedianLessTheMargin) {
  fill_twelve();
  {
    const Snapshot snapshot(path_);
    const RowSet set(snapshot, {});
    const auto targets = derive_targets(set, 0.5);
    ASSERT_EQ(targets.size(), 1u);
    EXPECT_EQ(targets[0].runs(), 12);
    EXPECT_NEAR(targets[0].median, 0.855, 1e-12);
    EXPECT_NEAR(targets[0].share, 0.85, 1e-12);
    const auto of_error = derive_target(*targets[0].dense, Margin::of_error(0.1));
    EXPECT_NEAR(of_error->margin_pp, 1.45, 1e-9) << "a tenth of an error of 14.5 %";
  }
  store_target(0.5);
  const Snapshot snapshot(path_);
  const auto stored = read_targets(snapshot.db(), "");
  ASSERT_EQ(stored.size(), 1u);
  EXPECT_NEAR(stored[0].share, 0.85, 1e-12);
  EXPECT_EQ(stored[0].runs(), 12);
  EXPECT_EQ(stored[0].commits, std::set<std::string>{"abc123"});
  EXPECT_TRUE(
      stored[0].origin().starts_with("median best of 12 dense runs less 0.5 points, derived 20"))
      << stored[0].origin();
  EXPECT_TRUE(stored[0].origin().ends_with(" by commit abc123"));
  EXPECT_EQ(check_store(path_), std::vector<std::string>());
}

// Before it is stored it moves with the exact trainings, and `report table` has no time to it.
TEST_F(DerivedTargets, AStoredOneStaysAndIsThatOfEveryReport) {
  fill_twelve();
  EXPECT_EQ(at(made("table", path_), "zero", "target"), Field());
  EXPECT_THAT(render(made("tta", path_), "md"), testing::HasSubstr(kTargetMoves));
  store_target(0.5);
  fill({accuracy("dense", 12, {0.99}), accuracy("dense", 13, {0.99})});
  const Table tta = made("tta", path_), table = made("table", path_);
  EXPECT_NEAR(real(tta, "zero", "target_pct"), 85, 1e-9);
  EXPECT_EQ(count(tta, "zero", "target_dense_runs"), 12);
  EXPECT_EQ(count(tta, "zero", "target_stored"), 1);
  EXPECT_NEAR(real(table, "zero", "target"), 0.85, 1e-12);
  EXPECT_EQ(count(table, "zero", "target_reached"), 2);
  for (const auto& text : {render(tta, "md"), render(table, "md")}) {
    EXPECT_THAT(text, testing::HasSubstr("median best of 12 dense runs less 0.5 points, derived"));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr("fewer than 10 dense runs")));
    EXPECT_THAT(text, testing::Not(testing::HasSubstr(kTargetMoves)));
  }
  // Another margin is another question, and so is a target that is given.
  const Table other = made("tta", path_, {.margin = Margin(1)});
  EXPECT_NEAR(real(other, "zero", "target_pct"), 85.5, 1e-9) << "of fourteen";
  EXPECT_EQ(count(other, "zero", "target_stored"), 0);
  EXPECT_NEAR(real(made("tta", path_, {.target = 0.7}), "zero", "target_pct"), 70, 1e-9);
  // Stored again, the newer one counts.
  store_target(0.5);
  EXPECT_EQ(count(made("tta", path_), "zero", "target_dense_runs"), 14);
}

TEST_F(DerivedTargets, FewRunsLeaveAFootnote) {
  fill_twelve(9);
  const auto few = [](const Table& table) {
    return std::get<std::string>(at(table, "zero", "notes")).find("target of few runs") !=
           std::string::npos;
  };
  EXPECT_TRUE(few(made("tta", path_)));
  EXPECT_TRUE(few(made("advice", path_)));
  EXPECT_FALSE(few(made("table", path_))) << "it has no target";
  store_target(0.5);
  EXPECT_TRUE(few(made("tta", path_)));
  EXPECT_TRUE(few(made("table", path_)));
  EXPECT_THAT(render(made("table", path_), "md"),
              testing::HasSubstr("its target rests on fewer than 10 dense runs"));
  EXPECT_FALSE(few(made("tta", path_, {.target = 0.7})));
}

// The experiment's own target counts before any other.
TEST_F(DerivedTargets, AnExperimentsTargetComesFirst) {
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.8})}, Target{"accuracy", 0.75});
  store_target(0.5);
  EXPECT_EQ(std::get<std::string>(at(made("tta", path_), "zero", "target_origin")),
            "the experiment's");
}

TEST_F(DerivedTargets, ThatOfTheAskedExperimentComesBeforeOthers) {
  fill_twelve();
  store_target(1, "test:one");
  store_target(0.5);
  EXPECT_NEAR(real(made("tta", path_), "zero", "target_pct"), 85, 1e-9);
  EXPECT_NEAR(real(made("tta", path_, {.experiment = "test:one"}), "zero", "target_pct"), 84.5,
              1e-9);
}

// A stored table that is none of a target, in a file of unknown origin.
TEST_F(DerivedTargets, WhatIsNoTargetIsLeftOut) {
  for (const char* content :
       {"'[]'", "'{'", R"('{"rows":3}')", R"('{"rows":[[1]]}')",
        "json_set(content, '$.rows[0][9]', 7)", R"(json_set(content, '$.rows', json('["a"]')))"}) {
    std::filesystem::remove(path_);
    fill_twelve();
    store_target(0.5);
    SQLite::Database(path_, SQLite::OPEN_READWRITE)
        .exec(fmt::format("UPDATE study_run SET content = {} WHERE name = 'target'", content));
    const Snapshot snapshot(path_);
    for (const auto& target : read_targets(snapshot.db(), "")) {
      EXPECT_EQ(target.runs(), 11) << content;
    }
    EXPECT_EQ(made("tta", path_).rows.size(), 2u) << content;
    EXPECT_FALSE(check_store(path_).empty() && std::string_view(content) != "'[]'") << content;
  }
}

// It never arrives, like one that was evaluated before it diverged.
TEST_F(ReportTest, ARunThatDivergedBeforeItsFirstEvaluationCountsAgainstATarget) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 2; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.5, 0.8}));
    runs.push_back(seed == 0 ? Ran{planned("zero", seed), accuracy_events({}, RunState::kDiverged)}
                             : accuracy("zero", seed, {0.8, 0.8}));
  }
  fill(runs, Target{"accuracy", 0.75});
  const Table table = made("tta", path_);
  EXPECT_EQ(count(table, "zero", "reached"), 1);
  EXPECT_EQ(count(table, "zero", "runs"), 2);
  EXPECT_EQ(count(table, "zero", "pairs"), 2);
  EXPECT_EQ(count(table, "zero", "pairs_arrived"), 1);
  EXPECT_EQ(at(table, "zero", "speedup"), Field()) << "one of the pairs did not arrive";
  EXPECT_DOUBLE_EQ(real(table, "zero", "restart_s"), 1) << "begun anew as soon as it diverged";
}

}  // namespace
}  // namespace approx
