#include "results/records/snapshot.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "generated/source_dir.h"
#include "results/records/items.h"
#include "results/reports/page.h"
#include "results/reports/paper_figure.h"
#include "results/reports/report.h"
#include "results/rows/rows.h"
#include "tests/core/config/test_catalogue.h"
#include "tests/results/filled_store.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

class SnapshotTest : public testing::Test {
 protected:
  TemporaryFolder folder_;
  const std::string path_ = folder_ / "store.db";
  const ReportOptions options_{.catalogue = &test_catalogue()};

  // Seeds from 0 on of exact training and of a method, with these accuracies at their ends.
  void fill(int64_t seeds, double accuracy) {
    std::vector<PlannedRun> plans;
    for (int64_t seed = 0; seed < seeds; ++seed) {
      for (const char* method : {"dense", "zero"}) plans.push_back(planned(method, seed));
    }
    RunStore store(path_, RunStore::Mode::kWrite);
    store.add_experiment(experiment_of(plans), "sweep");
    for (const auto& plan : plans) {
      const auto id = store.begin(plan.key, environment_of(), path_ + "-runs");
      if (id) store.finish(*id, accuracy_events({accuracy - 0.1, accuracy}), {});
    }
  }

  // Made of all that is in the store, its figures by `draw`.
  std::string page(const DrawSvg& draw) const {
    std::vector<std::string> problems;
    return report_page(Snapshot(path_), options_, "", draw, problems);
  }
};

TEST_F(SnapshotTest, EveryReportReadsTheStoreOnce) {
  fill(2, 0.9);
  for (const auto* report : reports()) {
    const int64_t before = snapshots_opened();
    const Snapshot snapshot(path_);
    fs::rename(path_, path_ + ".away");  // nothing but the snapshot is read
    if (report->name == "breakeven") {  // of exact trainings of several lengths, which are not here
      EXPECT_THROW(report->make(snapshot, options_), Error);
    } else {
      EXPECT_NO_THROW(report->make(snapshot, options_)) << report->name;
    }
    fs::rename(path_ + ".away", path_);
    EXPECT_EQ(snapshots_opened() - before, 1) << report->name;
  }
}

// A sweep goes on while its page is made.
TEST_F(SnapshotTest, APageIsOfOneMoment) {
  fill(2, 0.9);
  int64_t figures = 0;
  const int64_t before = snapshots_opened();
  const std::string quiet = page([&](const std::string&, const std::string&) {
    ++figures;
    return std::string("<svg/>");
  });
  EXPECT_EQ(snapshots_opened() - before, 1);
  ASSERT_GT(figures, 1) << "nothing is written in the middle of the page";
  int64_t seeds = 2;
  const std::string busy = page([&](const std::string&, const std::string&) {
    fill(++seeds, 0.5);
    return std::string("<svg/>");
  });
  EXPECT_EQ(busy, quiet);
}

// The trainings of an item of the study's store are overwritten between its table and its figure.
TEST_F(SnapshotTest, AnItemOfAPaperIsOfOneMoment) {
  fs::copy_file(APPROX_SOURCE_DIR "/results/measured/several-machines/study.db", path_);
  fs::permissions(path_, fs::perms::owner_write, fs::perm_options::add);
  Catalogue catalogue = test_catalogue();
  for (auto& method : catalogue.methods) {
    if (method.name == "topk_position") method.params.push_back({"factor", 1.0, "", 0.0, 1.0});
  }
  const ReportOptions options{.catalogue = &catalogue};
  const auto texts = [&](const auto& between) {
    const int64_t before = snapshots_opened();
    const Snapshot snapshot(path_);
    const auto item = paper_item(snapshot, APPROX_SOURCE_DIR "/experiments/wang2019/figure6.toml",
                                 "reduced", options);
    between();
    const auto drawing = paper_drawing(snapshot, item, options);
    EXPECT_EQ(snapshots_opened() - before, 1);
    return render(item.table, "csv") + render(drawing.table, "csv");
  };
  const std::string quiet = texts([] {});
  const auto overwrite = [&] {
    SQLite::Database db(path_, SQLite::OPEN_READWRITE);
    db.exec("UPDATE metric SET value = value / 2 WHERE name = 'accuracy'");
    db.exec("DELETE FROM timing_block");
  };
  EXPECT_EQ(texts(overwrite), quiet);
  EXPECT_NE(texts([] {}), quiet) << "the store was not written";
}

// A damaged configuration is the store's fault, and only of those who read that cell.
TEST_F(SnapshotTest, AnUnreadableConfigurationIsNamed) {
  fill(1, 0.9);
  SQLite::Database(path_, SQLite::OPEN_READWRITE)
      .exec("UPDATE cell SET config = '{\"epoch\": 1}' WHERE cell_id = 2");
  const Snapshot snapshot(path_);
  const auto& registry = Registry<Report>::instance();
  try {
    registry.find("table").make(snapshot, options_);
    ADD_FAILURE() << "it was read";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDatabase);
    const std::string what = error.what();
    EXPECT_NE(what.find(path_), std::string::npos) << what;
    EXPECT_NE(what.find("configuration of cell 2"), std::string::npos) << what;
  }
  EXPECT_NO_THROW(registry.find("kernels").make(snapshot, options_));
}

// Reports of one page begin with the same rows, but for options that decide them.
TEST_F(SnapshotTest, RowsAreMadeOnce) {
  fill(1, 0.9);
  const Snapshot snapshot(path_);
  const auto rows = rows_of(snapshot, options_);
  EXPECT_EQ(rows, rows_of(snapshot, options_));
  ReportOptions others = options_;
  others.verdicts = true;
  others.margin = 1.0;
  EXPECT_EQ(rows, rows_of(snapshot, others)) << "they decide no row";
  others.include_tainted = !options_.include_tainted;
  EXPECT_NE(rows, rows_of(snapshot, others));
  others = options_;
  others.target = 0.75;
  EXPECT_NE(rows, rows_of(snapshot, others));
  EXPECT_NE(rows, rows_of(Snapshot(path_), options_)) << "another moment";
  const Experiment item{};
  others = options_;
  others.item = &item;
  EXPECT_NE(rows_of(snapshot, others), rows_of(snapshot, others)) << "an item has no name";
}

TEST_F(SnapshotTest, WithoutAStoreNothingWasMeasured) {
  EXPECT_THROW(Snapshot{path_}, Error);
  const auto snapshot = Snapshot::or_empty(path_);
  EXPECT_TRUE(snapshot.items().all().empty());
  EXPECT_FALSE(fs::exists(path_));
}

}  // namespace
}  // namespace approx
