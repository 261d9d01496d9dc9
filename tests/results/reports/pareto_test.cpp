// Fronts and profiles.
#include <gtest/gtest.h>

#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

// A speedup of one machine dominates none of another.
TEST_F(ReportTest, EachMachineHasAFrontOfItsOwn) {
  auto slower = timing("random", 1500);
  slower.environment = environment_of("slow");
  const std::vector<Ran> trained = {accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.79}),
                                    accuracy("random", 0, {0.78}), timing("zero", 2000)};
  auto runs = trained;
  runs.push_back(slower);
  fill(runs);
  const Table table = made("pareto", path_);
  ASSERT_EQ(table.rows.size(), 4u);  // dense stands in both
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "yes");
  EXPECT_EQ(std::get<std::string>(at(table, "random", "front")), "yes");
  EXPECT_NE(at(table, "zero", "timed_on"), at(table, "random", "timed_on"));
  EXPECT_NE(render(table, "md").find("| timed on"), std::string::npos);
  // On one machine it is dominated, and nothing is said of machines.
  std::filesystem::remove(path_);
  runs.back() = timing("random", 1500);
  fill(runs);
  const Table one = made("pareto", path_);
  ASSERT_EQ(one.rows.size(), 3u);
  EXPECT_NE(std::get<std::string>(at(one, "random", "front")), "yes");
  EXPECT_EQ(render(one, "md").find("timed on"), std::string::npos);
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
  EXPECT_NE(profile.notes[0].find("; no bands, which take 10 workloads; "), std::string::npos);
  EXPECT_EQ(made("pareto", path_).rows.size(), 2u);
}

TEST_F(ThreeSeeds, TheFrontHasDenseAndWhatIsFaster) {
  fill_three();
  const Table table = made("pareto", path_);
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(std::get<std::string>(at(table, "dense", "front")), "yes");
  EXPECT_EQ(std::get<std::string>(at(table, "zero", "front")), "yes");  // faster, and loses more
  EXPECT_NEAR(real(table, "zero", "loss_pp"), 8.33333, 1e-4);
}

// The mean of those that did not diverge would push a sound method off the front.
TEST_F(ReportTest, WhatDivergedOrHasNoSoundSpeedupIsNotHeldAgainstOthers) {
  const Ran diverged{planned("random", 1), accuracy_events({}, RunState::kDiverged)};
  fill({accuracy("dense", 0, {0.8}), accuracy("zero", 0, {0.7}), accuracy("random", 0, {0.79}),
        diverged, timing("zero", 1500), timing("random", 2000)});
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
