#include <gtest/gtest.h>

#include <set>

#include "results/render/column.h"
#include "results/reports/report.h"

namespace approx {
namespace {

struct Word {
  std::string text;
};

// All that a new report takes.
Table report_words(const Snapshot& snapshot, const ReportOptions& /*options*/) {
  Table table;
  table.name = "words";
  fill(table, Columns<Word>{{.name = "word", .header = "word", .value = &Word::text}},
       {{snapshot.path()}});
  return table;
}

REGISTER_REPORT("words", report_words).about("Words").of_the_store();

TEST(ReportRegistry, ANewReportIsOneFile) {
  const auto all = reports();
  const Report& words = *all.back();  // without a place: behind those that have one
  EXPECT_EQ(words.name, "words");
  EXPECT_EQ(words.summary, "Words");
  EXPECT_TRUE(words.script.empty());
  EXPECT_FALSE(words.of_experiment);
  EXPECT_EQ(render(words.make(Snapshot::or_empty("store.db"), {}), "csv"), "word\nstore.db\n");
}

TEST(ReportRegistry, StandsInTheOrderOfItsPlaces) {
  std::vector<std::string> names;
  std::set<int> places;
  for (const auto* report : reports()) {
    names.push_back(report->name);
    EXPECT_FALSE(report->summary.empty()) << report->name;
    // Cards have a row for each method whatever there is.
    const bool may_be_empty = report->name != "cards" && report->name != "words";
    EXPECT_EQ(report->needs.empty(), !may_be_empty) << report->name;
    EXPECT_TRUE(places.insert(report->place).second) << report->name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"table", "tta", "pareto", "profile", "curves",
                                             "layers", "advice", "runs", "kernels", "cascade",
                                             "cards", "traffic", "pairs", "breakeven", "words"}));
}

}  // namespace
}  // namespace approx
