// What stands on top of the page of a store.
#include "results/reports/page_summary.h"

#include <gtest/gtest.h>

#include "results/reports/page.h"
#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

class PageSummaryTest : public ReportTest {
 protected:
  static std::string typed(const std::vector<std::string>& words) {
    return fmt::format("approxtrain {} --db x.db", fmt::join(words, " "));
  }

  PageSummary summary() const {
    ReportOptions options;
    options.verdicts = true;
    const Snapshot snapshot(path_);
    const Table table = Registry<Report>::instance().find("table").make(snapshot, options);
    return page_summary(snapshot, options, table, typed);
  }

  static std::string listed(const PageSummary& summary, const std::string& name) {
    for (const auto& [key, value] : summary.compared) {
      if (key == name) return value;
    }
    return "no " + name;
  }

  // Six seeds of exact training and of "zero", which loses much and was timed once; "random" has
  // lost a run and was not timed.
  void fill_some() {
    std::vector<Ran> runs;
    for (int64_t seed = 0; seed < 6; ++seed) {
      runs.push_back(accuracy("dense", seed, {0.9}));
      runs.push_back(accuracy("zero", seed, {0.5 + 0.01 * static_cast<double>(seed)}));
      if (seed > 0) runs.push_back(accuracy("random", seed, {0.89}));
    }
    runs.push_back(timing("zero", 2000, 0));
    runs.push_back({planned("random", 0), {}});  // planned, and not run
    fill(runs);
  }
};

TEST_F(PageSummaryTest, SaysWhatWasComparedAndWhatIsMissing) {
  fill_some();
  const auto made = summary();
  EXPECT_TRUE(made.sentence.starts_with("2 methods: none worth it, 1 loses too much, 1 undecided"))
      << made.sentence;
  EXPECT_EQ(listed(made, "networks"), "LeNet");
  EXPECT_EQ(listed(made, "data sets"), "mnist");
  EXPECT_EQ(listed(made, "methods"), "2: zero; random");
  EXPECT_EQ(listed(made, "machines"), "Test CPU (2 cores)");
  EXPECT_EQ(listed(made, "commits"), "abc123");
  EXPECT_TRUE(listed(made, "runs").starts_with("18 finished, on ")) << listed(made, "runs");

  ASSERT_EQ(made.verdicts.text_rows.size(), 2u);
  const auto& first = made.verdicts.text_rows[0];
  EXPECT_EQ(std::ranges::count(first, "zero"), 1) << "without letters of notes that are not there";
  EXPECT_EQ(std::ranges::count(first, "✘ loses too much"), 1);

  using Row = std::vector<std::string>;
  ASSERT_EQ(made.missing.text_rows.size(), 2u);
  EXPECT_EQ(made.missing.text_rows[0],
            (Row{"test:one", "results of 1 of 19 runs", "approxtrain sweep test.toml --db x.db"}));
  EXPECT_EQ(made.missing.text_rows[1][2],
            "approxtrain sweep test.toml --set timing_seeds=0-9 --seeds 0-5 --db x.db");
  EXPECT_EQ(made.next, made.missing.text_rows[0][2]);
}

// Where nothing is compared nothing is promised.
TEST_F(PageSummaryTest, ExactTrainingAloneHasNoVerdict) {
  fill({accuracy("dense", 0, {0.9})});
  const auto made = summary();
  EXPECT_EQ(made.sentence, "");
  EXPECT_EQ(listed(made, "methods"), "none: exact training alone");
  EXPECT_TRUE(made.verdicts.text_rows.empty());
  EXPECT_TRUE(made.missing.text_rows.empty());
  EXPECT_EQ(made.next, "");
}

TEST_F(PageSummaryTest, StandsOnTopOfThePage) {
  fill_some();
  Catalogue none;
  ReportOptions options;
  options.catalogue = &none;
  std::vector<std::string> problems;
  const auto draw = [](const std::string&, const std::string&) { return std::string(); };
  const std::string page = report_page(Snapshot(path_), options, "", draw, problems, typed);
  const auto at = [&](const char* text) { return page.find(text); };
  EXPECT_LT(at("<p class=\"summary\">2 methods: none worth it"), at("<p class=\"next\">"));
  EXPECT_LT(at("<p class=\"next\">What to do next: approxtrain sweep test.toml"), at("<section"));
  EXPECT_LT(at("<section id=\"summary\""), at("<section id=\"advice\""));
  EXPECT_LT(at("<section id=\"advice\""), page.size());
  EXPECT_NE(at("no\">✘\u00a0loses too much</td>"), std::string::npos);
}

}  // namespace
}  // namespace approx
