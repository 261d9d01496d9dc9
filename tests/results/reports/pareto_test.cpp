// Fronts and profiles.
#include <gtest/gtest.h>

#include "results/stats/stats.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

class Fronts : public ReportTest {
 protected:
  // Two seeds of each method, so that losses have intervals, and five processes of each timing.
  static void add_trained(std::vector<Ran>& runs, const std::string& method, double accuracy_0) {
    runs.push_back(accuracy(method, 0, {accuracy_0}));
    runs.push_back(accuracy(method, 1, {accuracy_0 + 0.001}));
  }
  static void add_timed(std::vector<Ran>& runs, const std::string& method, int64_t dense_ns,
                        const std::string& host = "", int64_t processes = 5) {
    for (int64_t process = 0; process < processes; ++process) {
      runs.push_back(timing(method, dense_ns + process, process));
      if (!host.empty()) runs.back().environment = environment_of(host);
    }
  }
};

// A speedup of one machine dominates none of another.
TEST_F(Fronts, EachMachineHasAFrontOfItsOwn) {
  std::vector<Ran> trained;
  add_trained(trained, "dense", 0.8);
  add_trained(trained, "zero", 0.79);
  add_trained(trained, "random", 0.78);
  add_timed(trained, "zero", 2000);
  auto runs = trained;
  add_timed(runs, "random", 1500, "slow");
  fill(runs);
  const Table table = made("pareto", path_);
  ASSERT_EQ(table.rows.size(), 4u);  // dense stands in both
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "yes");
  EXPECT_EQ(std::get<std::string>(at(table, "random", "front")), "yes");
  EXPECT_NE(at(table, "zero", "timed_on"), at(table, "random", "timed_on"));
  EXPECT_NE(render(table, "md").find("| timed on"), std::string::npos);
  // On one machine it is dominated, and nothing is said of machines.
  std::filesystem::remove(path_);
  runs = trained;
  add_timed(runs, "random", 1500);
  fill(runs);
  const Table one = made("pareto", path_);
  ASSERT_EQ(one.rows.size(), 3u);
  EXPECT_NE(std::get<std::string>(at(one, "random", "front")), "yes");
  EXPECT_EQ(render(one, "md").find("timed on"), std::string::npos);
}

// A place that rests on one process, or on one seed, is none yet.
TEST_F(Fronts, AMethodIsOnTheFrontByEnoughProcessesAndSeeds) {
  struct Case {
    int64_t processes;
    bool one_seed;
    const char* front;
  };
  for (const Case& one : {Case{1, false, "perhaps"}, Case{4, false, "perhaps"},
                          Case{5, true, "perhaps"}, Case{5, false, "yes"}}) {
    std::filesystem::remove(path_);
    std::vector<Ran> runs;
    add_trained(runs, "dense", 0.8);
    add_trained(runs, "zero", 0.79);
    if (one.one_seed) runs.pop_back();
    add_timed(runs, "zero", 2000, "", one.processes);
    fill(runs);
    const Table table = made("pareto", path_);
    EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), one.front)
        << one.processes << " processes" << (one.one_seed ? ", one seed" : "");
    EXPECT_EQ(std::get<std::string>(at(table, "dense", "front")), "yes");
  }
}

TEST_F(ReportTest, AFrontNamesWhatHasHalfOfAPoint) {
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.79}), accuracy("random", 0, {0.78}),
        timing("zero", 2000), timing("meprop", 1500)});
  const auto all = made("pareto", path_).notes;
  const std::string notes = fmt::format("{}", fmt::join(all, "\n"));
  EXPECT_NE(notes.find("left out, not timed: random"), std::string::npos) << notes;
  EXPECT_NE(notes.find("left out, not trained beside dense: meprop"), std::string::npos) << notes;
  EXPECT_EQ(notes.find("zero, "), std::string::npos) << notes;
}

// A smaller network that is only trained exactly is no workload and no front.
TEST_F(ReportTest, ControlsAreNoWorkloads) {
  auto smaller = accuracy("dense", 0, {0.8});
  smaller.plan.config.network = "smaller";
  smaller.plan.key += "smaller";
  Ran timing{planned("zero", 0, Purpose::kTiming),
             {block_event(0, "dense", 10, 200), block_event(0, "approx", 10, 100), final_event(1)}};
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.8}), timing, smaller},
       Target{"accuracy", 0.75});
  const Table profile = made("profile", path_);
  EXPECT_FALSE(profile.rows.empty());
  for (const auto& note : profile.notes) EXPECT_EQ(note.find("left out"), std::string::npos);
  EXPECT_EQ(profile.notes[0].find("1 workload; "), 0U) << profile.notes[0];
  EXPECT_NE(profile.notes[0].find(". No bands: they take 10 workloads. "), std::string::npos);
  EXPECT_EQ(made("pareto", path_).rows.size(), 2u);
}

TEST_F(ThreeSeeds, TheFrontHasDenseAndWhatIsFaster) {
  fill_three();
  const Table table = made("pareto", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(at(table, "dense", "front")), "yes");
  // Faster, and loses more; two processes say no more than perhaps.
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "perhaps");
  EXPECT_NEAR(real(table, "zero", "loss_pp"), 8.33333, 1e-4);
}

// What else saves time: an exact training as short as a method is fast, and a smaller network. Both
// are seen beside the methods, and held against none.
TEST_F(Fronts, ShorterTrainingsAndSmallerNetworksStandBesideIt) {
  std::vector<Ran> runs;
  const auto add = [&](Ran run, int64_t epochs, double last_epoch = 1) {
    for (auto& event : run.events) {
      if (event.contains("epoch")) event["epoch"] = static_cast<double>(epochs - 1) + last_epoch;
    }
    run.plan.config.recipe.epochs = epochs;
    run.plan.config.recipe.last_epoch = last_epoch;
    run.plan.config.recipe.lr_schedule = RateSchedule::kCosine;
    run.plan.config.recipe.eval_every = 1;
    runs.push_back(std::move(run));
  };
  const auto smaller = [](Ran run) {
    run.plan.config.network = "smaller";
    run.plan.network_label = "Smaller";
    run.plan.key += "-smaller";
    return run;
  };
  for (int64_t seed = 0; seed < 6; ++seed) {
    const double base = 0.8 + 0.001 * static_cast<double>(seed);
    add(accuracy("dense", seed, {base}), 4);
    add(accuracy("zero", seed, {base - 0.05}), 4);
    add(smaller(accuracy("dense", seed, {base - 0.02})), 4);
    add(accuracy("dense", seed, {base - 0.03}), 4, 0.25);
    runs.back().plan.method_label = "dense in the time of zero";
    runs.back().plan.key += "-control";
  }
  for (int64_t seed = 0; seed < kProcessesForAVerdict; ++seed) {
    add(timing("zero", 1225 + 50 * (seed % 2), seed), 4);
    add(smaller(timing("dense", 1500, seed)), 4);
    runs.back().plan.config.timed_against = "lenet";
  }
  fill(runs);
  const Table table = made("pareto", path_);
  ASSERT_EQ(table.rows.size(), 4u) << render(table, "md");
  const std::string shorter = "exact, 3.25 of 4 epochs", small = "Smaller, dense";
  const auto kind = [&](const std::string& method) {
    return std::get<std::string>(at(table, method, "kind"));
  };
  EXPECT_EQ(kind("dense"), "exact");
  EXPECT_EQ(kind("zero"), "method");
  EXPECT_EQ(kind(shorter), "shorter");
  EXPECT_EQ(kind(small), "smaller");
  EXPECT_NEAR(real(table, shorter, "speedup"), 4 / 3.25, 1e-9);
  EXPECT_NEAR(real(table, shorter, "loss_pp"), 3, 1e-9);
  EXPECT_NEAR(real(table, small, "speedup"), 1.5, 0.01);
  EXPECT_NEAR(real(table, small, "loss_pp"), 2, 1e-9);
  EXPECT_EQ(at(table, small, "network"), Field("LeNet")) << "it stands in that picture";
  EXPECT_EQ(at(table, shorter, "front"), Field(""));
  EXPECT_EQ(at(table, small, "front"), Field(""));
  // They are better, and the method is on the front for all that.
  EXPECT_EQ(at(table, "zero", "front"), Field("yes"));
  EXPECT_EQ(at(table, small, "speedup_vs_stock").index(), 0u);
  EXPECT_NE(render(table, "md").find("Neither is held against the methods"), std::string::npos);
}

// The mean of those that did not diverge would push a sound method off the front.
TEST_F(Fronts, WhatDivergedOrHasNoSoundSpeedupIsNotHeldAgainstOthers) {
  std::vector<Ran> runs;
  add_trained(runs, "dense", 0.8);
  add_trained(runs, "zero", 0.7);
  add_trained(runs, "random", 0.79);
  runs.push_back({planned("random", 2), accuracy_events({}, RunState::kDiverged)});
  add_timed(runs, "zero", 1500);
  add_timed(runs, "random", 2000);
  fill(runs);
  const Table table = made("pareto", path_);
  EXPECT_EQ(std::get<std::string>(at(table, "random", "front")), "perhaps");
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "yes");
  EXPECT_NE(std::get<std::string>(at(table, "random", "notes")).find("diverged"),
            std::string::npos);
  EXPECT_NE(render(table, "md").find("means are over the runs that did not diverge"),
            std::string::npos);
}

}  // namespace
}  // namespace approx
