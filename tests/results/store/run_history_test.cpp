#include "results/store/run_history.h"

#include <gtest/gtest.h>

#include "tests/results/filled_store.h"

namespace approx {
namespace {

// A run of which its worker says that it took 2 s, and the clock on the wall whatever a test wants.
class StoredTimes : public testing::Test {
 protected:
  StoredTimes() {
    RunStore store(db_, RunStore::Mode::kWrite);
    store.add_experiment(experiment_of({run_}), "sweep");
    const auto id = store.begin(run_.key, environment_of(), folder_ / "run");
    store.finish(*id, accuracy_events({0.5, 0.6}), {});
    change("started_utc = '2026-01-01T00:00:00Z'");
  }

  void change(const std::string& what) const {
    SQLite::Database(db_, SQLite::OPEN_READWRITE).exec("UPDATE run SET " + what);
  }

  double expected(const std::string& ended) const {
    change(fmt::format("ended_utc = '{}'", ended));
    return RunTimes(db_).expected(run_.config).value_or(-1);
  }

  const TemporaryFolder folder_;
  const std::string db_ = folder_ / "t.db";
  const PlannedRun run_ = planned("zero", 0);
};

TEST_F(StoredTimes, TheStartOfItsProcessIsCounted) {
  EXPECT_DOUBLE_EQ(expected("2026-01-01T00:00:05Z"), 5);
  EXPECT_NEAR(expected("2026-01-01T00:00:01Z"), 2, 1e-3);
}

// What died on Friday and was settled on Monday took no longer than its worker says.
TEST_F(StoredTimes, WhatCameAfterItsEndIsNot) {
  EXPECT_NEAR(expected("2026-01-04T00:00:00Z"), 2, 1e-3);
}

TEST_F(StoredTimes, AClockThatWasSetDoesNotCount) {
  EXPECT_NEAR(expected("2026-01-01T01:00:00Z"), 2, 1e-3);
  EXPECT_NEAR(expected("2025-12-31T23:00:00Z"), 2, 1e-3);
  EXPECT_NEAR(expected("no time"), 2, 1e-3);
}

TEST_F(StoredTimes, WithoutItsOwnClockThatOnTheWallIsGoneBy) {
  change("wall_ns = NULL");
  EXPECT_DOUBLE_EQ(expected("2026-01-01T00:10:00Z"), 600);
}

}  // namespace
}  // namespace approx
