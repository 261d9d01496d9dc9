#include "cli/sweep/spelling.h"

#include <gtest/gtest.h>

#include "tests/results/filled_store.h"

namespace approx {
namespace {

using Lines = std::vector<std::string>;

TEST(IdleLines, AreOfSettingsThatNoRunUses) {
  std::vector<PlannedRun> runs = {planned("dense", 0), planned("zero", 0), planned("zero", 1)};
  EXPECT_TRUE(idle_lines(runs).empty());
  for (auto& run : runs) run.config.recipe.decay = 0.5;
  EXPECT_EQ(idle_lines(runs),
            (Lines{"recipe.decay = 0.5 has no effect under lr_schedule = constant; "
                   "counted as its default"}));
  runs[2].config.recipe.lr_schedule = RateSchedule::kExponential;
  EXPECT_TRUE(idle_lines(runs).empty()) << "another run of the sweep uses it";
  runs[2].excluded = "not wanted";
  EXPECT_EQ(idle_lines(runs).size(), 1u);
}

TEST(KeepStoredKeys, TakesTheKeyThatTheStoreHas) {
  const TemporaryFolder folder;
  const std::string db = folder / "store.db";
  std::vector<PlannedRun> runs = {planned("dense", 0), planned("zero", 0), planned("zero", 1)};
  const auto keys = [&] {
    Lines all;
    for (const auto& run : runs) all.push_back(run.key);
    return all;
  };
  const Lines now = keys();
  for (auto& run : runs) run.same_keys = {"before/" + run.key};
  keep_stored_keys(runs, db);
  EXPECT_EQ(keys(), now) << "there is no store";
  {
    // Of the first under its key of before, of the second under both.
    auto before = runs[0], both = runs[1];
    before.key = before.same_keys[0], both.key = both.same_keys[0];
    RunStore store(db, RunStore::Mode::kWrite);
    store.add_experiment(experiment_of({before, both, runs[1], runs[2]}), "sweep");
    for (const auto& run : {before, both, runs[1]}) {
      const auto id = store.begin(run.key, environment_of(), folder / "runs");
      ASSERT_TRUE(id);
      store.finish(*id, accuracy_events({0.9}), {});
    }
  }
  keep_stored_keys(runs, db);
  EXPECT_EQ(keys(), (Lines{"before/" + now[0], now[1], now[2]}));
  EXPECT_EQ(runs[0].same_keys, Lines{now[0]});
}

}  // namespace
}  // namespace approx
