// The note on lossy data, in every report that depends on images.
#include "results/records/lossy_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "results/reports/compare.h"
#include "results/reports/report.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

constexpr const char* kSays = "lossy data: the images";

bool says_lossy(const Table& table) {
  return std::any_of(table.notes.begin(), table.notes.end(),
                     [](const std::string& note) { return note.find(kSays) != std::string::npos; });
}

class LossyDataTest : public ReportTest {
 protected:
  // Everything that most reports need, of five seeds.
  void fill_data(const std::string& path, bool lossy) {
    std::vector<Ran> runs;
    const auto add = [&](Ran ran) {
      ran.environment = environment_of("box", /*dirty=*/false, lossy);
      runs.push_back(std::move(ran));
    };
    for (int64_t seed = 0; seed < 5; ++seed) {
      const auto wiggle = 0.01 * static_cast<double>(seed);
      add(accuracy("dense", seed, {0.5, 0.8 + wiggle}));
      add(accuracy("zero", seed, {0.5, 0.7 + wiggle}));
      add(timing("zero", 2000, seed));
    }
    fill_store(path, runs, Target{"accuracy", 0.6});
  }
};

TEST_F(LossyDataTest, EveryReportOnImagesSaysSo) {
  const std::string kept = folder_ / "kept.db";
  fill_data(path_, /*lossy=*/true);
  fill_data(kept, /*lossy=*/false);
  std::set<std::string> filled;
  for (const auto* report : reports()) {
    Table table;
    try {
      table = report->make(Snapshot(path_), {});
    } catch (const Error&) {
      continue;  // it lacks what it compares with
    }
    if (table.rows.empty()) continue;
    filled.insert(report->name);
    EXPECT_EQ(says_lossy(table), report->of_images) << report->name;
    EXPECT_FALSE(says_lossy(report->make(Snapshot(kept), {}))) << report->name;
  }
  // A report with no rows here would be no test of it.
  for (const char* name :
       {"table", "tta", "pareto", "profile", "curves", "runs", "cards", "pairs"}) {
    EXPECT_TRUE(filled.contains(name)) << name;
  }
  std::set<std::string> without;
  for (const auto* report : reports()) {
    if (!report->of_images) without.insert(report->name);
  }
  EXPECT_EQ(without, (std::set<std::string>{"kernels", "traffic"}));
}

TEST_F(LossyDataTest, AComparisonOfStoresSaysSoOfEither) {
  const std::string kept = folder_ / "kept.db";
  fill_data(path_, /*lossy=*/true);
  fill_data(kept, /*lossy=*/false);
  EXPECT_TRUE(says_lossy(report_compare(Snapshot(kept), Snapshot(path_), {}, nullptr)));
  EXPECT_FALSE(says_lossy(report_compare(Snapshot(kept), Snapshot(kept), {}, nullptr)));
}

TEST_F(LossyDataTest, ProgramsReadItInAColumn) {
  fill_data(path_, /*lossy=*/true);
  for (const char* name : {"table", "curves"}) {
    const Table table = made(name, path_);
    const auto notes = std::get<std::string>(at(table, "zero", "notes"));
    EXPECT_NE(notes.find("lossy data"), std::string::npos) << name << ": " << notes;
  }
  EXPECT_EQ(count(made("runs", path_), "zero", "lossy_data"), 1);
}

TEST_F(LossyDataTest, OnlyResultsOfTheExperimentCount) {
  auto failed = accuracy("zero", 0, {});
  failed.environment = environment_of("box", /*dirty=*/false, /*lossy=*/true);
  failed.events.clear();
  failed.end.state = RunState::kFailed;
  fill({accuracy("dense", 0, {0.5}), failed});
  auto db = open_snapshot(path_);
  EXPECT_EQ(lossy_datasets(db, ""), std::set<std::string>());
  fill_data(folder_ / "other.db", /*lossy=*/true);
  auto other = open_snapshot(folder_ / "other.db");
  EXPECT_EQ(lossy_datasets(other, "test:one"), std::set<std::string>{"mnist"});
  EXPECT_EQ(lossy_datasets(other, "test:two"), std::set<std::string>());
  EXPECT_EQ(lossy_note({"a", "b"}), "lossy data: the images of a, b went through JPEG");
  EXPECT_EQ(lossy_note({}), "");
}

}  // namespace
}  // namespace approx
