// Two stores held against each other.
#include "results/reports/compare.h"

#include <gtest/gtest.h>

#include "results/stats/stats.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

TEST_F(ReportTest, AComparisonThatCannotTellSaysSo) {
  const std::string other = folder_ / "other.db";
  const auto timing = [](int64_t pairs, int64_t fast, int64_t slow) {
    Ran ran{planned("zero", 0, Purpose::kTiming), {}};
    for (int64_t pair = 0; pair < pairs; ++pair) {
      ran.events.push_back(block_event(pair, "dense", 10, 1000));
      ran.events.push_back(block_event(pair, "approx", 10, pair % 2 == 0 ? fast : slow));
    }
    ran.events.push_back(final_event(1));
    return ran;
  };
  fill({accuracy("dense", 0, {0.5}), accuracy("dense", 1, {0.6}), accuracy("dense", 2, {0.7}),
        accuracy("zero", 1, {0.4}), timing(4, 900, 1100)});
  fill_store(other,
             {accuracy("dense", 0, {0.5}), accuracy("zero", 2, {0.2}), timing(4, 950, 1150)});
  std::vector<Change> failures;
  const Table table = report_compare(Snapshot(path_), Snapshot(other), {}, &failures);
  ASSERT_EQ(table.rows.size(), 3u);
  const auto verdict = [&](size_t row) { return std::get<std::string>(table.rows[row][7]); };
  EXPECT_EQ(verdict(0), "same") << "dense: three seeds against one of them";
  EXPECT_EQ(verdict(1), "undecided") << "zero: no seed in common";
  EXPECT_EQ(verdict(2), "undecided") << "zero: 5 % slower, give or take ten";
  EXPECT_TRUE(failures.empty());
}

TEST_F(ReportTest, ComparesTwoStores) {
  fill({accuracy("dense", 0, {0.5}), accuracy("zero", 0, {0.4})});
  std::vector<Change> failures;
  EXPECT_EQ(report_compare(Snapshot(path_), Snapshot(path_), {}, &failures).rows.size(), 2u);
  EXPECT_TRUE(failures.empty());
  const std::string other = folder_ / "other.db";
  fill_store(other, {accuracy("zero", 0, {0.41})});
  const Table table = report_compare(Snapshot(path_), Snapshot(other), {}, &failures);
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_NEAR(std::get<double>(table.rows[0][4]), 1, 1e-9);
  EXPECT_EQ(failures, std::vector{Change::kDiffers});  // equal runs give equal numbers
}

// A mean of those that did not diverge flatters: what diverged in one store alone decides.
TEST_F(ReportTest, AComparisonCountsRunsThatDiverged) {
  const auto diverged = [](int64_t seed) {
    return Ran{planned("zero", seed), accuracy_events({}, RunState::kDiverged)};
  };
  std::vector<Ran> all, some, none;
  for (int64_t seed = 0; seed < 6; ++seed) {
    const Ran finished = accuracy("zero", seed, {0.5 + 0.01 * static_cast<double>(seed)});
    all.push_back(finished);
    some.push_back(seed < 4 ? diverged(seed) : finished);
    none.push_back(diverged(seed));
  }
  const std::string a = folder_ / "all.db", b = folder_ / "some.db", c = folder_ / "none.db";
  fill_store(a, all), fill_store(b, some), fill_store(c, none);
  const auto verdict = [](const std::string& before, const std::string& after) {
    const Table table = report_compare(Snapshot(before), Snapshot(after), {});
    return table.rows.size() == 1 ? std::get<std::string>(table.rows[0][7]) : "no such row";
  };
  EXPECT_EQ(verdict(a, b), "inferior");
  EXPECT_EQ(verdict(a, c), "inferior");
  EXPECT_EQ(verdict(b, a), "better");
  EXPECT_EQ(verdict(b, b), "same") << "the same seeds in both";
  const Table table = report_compare(Snapshot(a), Snapshot(c), {});
  EXPECT_EQ(table.text_rows[0][3], "–, 6 diverged");
  EXPECT_EQ(table.rows[0][3], Field());
  // Of other seeds nothing is known.
  std::vector<Ran> others = {diverged(8), accuracy("zero", 9, {0.5})};
  fill_store(folder_ / "others.db", others);
  EXPECT_EQ(verdict(a, folder_ / "others.db"), "undecided");
}

// Two values a side may lie close together by chance, and processes differ.
TEST_F(ReportTest, AComparisonTakesSixSeedsAndTenProcesses) {
  const auto of = [](int64_t seeds, double accuracy_of_zero, int64_t processes, int64_t dense_ns) {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < seeds; ++seed) {
      const double spread = 0.0001 * static_cast<double>(seed);
      runs.push_back(accuracy("dense", seed, {0.9 + spread}));
      runs.push_back(accuracy("zero", seed, {accuracy_of_zero + spread}));
    }
    for (int64_t seed = 0; seed < processes; ++seed) {
      runs.push_back(timing("zero", dense_ns + seed, seed));
    }
    return runs;
  };
  const auto verdicts = [&](int64_t seeds, int64_t processes, const Margin& margin = 0.5) {
    for (const char* name : {"a.db", "b.db"}) std::filesystem::remove(folder_ / name);
    fill_store(folder_ / "a.db", of(seeds, 0.5, processes, 2000));
    fill_store(folder_ / "b.db", of(seeds, 0.48, processes, 1500));
    const Table table =
        report_compare(Snapshot(folder_ / "a.db"), Snapshot(folder_ / "b.db"), {.margin = margin});
    std::string text;
    for (const auto& row : table.rows) text += std::get<std::string>(row[7]) + " ";
    return text;
  };
  EXPECT_EQ(verdicts(6, kProcessesForAVerdict), "same inferior slower ");
  // Equal runs give equal numbers, of one seed and of several.
  for (const int64_t seeds : {1, 2, 5}) {
    EXPECT_EQ(verdicts(seeds, kProcessesForAVerdict - 1), "same differs undecided ") << seeds;
  }
  // A share of the exact training's error, 10 %, and not of the method's, 50 %.
  EXPECT_EQ(verdicts(6, 1, Margin::of_error(0.1)), "same inferior undecided ");
  EXPECT_EQ(verdicts(6, 1, Margin::of_error(0.3)), "same same undecided ");
}

}  // namespace
}  // namespace approx
