#include "results/reports/worth.h"

#include <gtest/gtest.h>

#include <deque>

#include "tests/results/reports/report_test.h"

namespace approx {
namespace {

// Rows of methods, each judged.
class JudgedRows {
 public:
  void add(const std::string& method, const Worth& worth) {
    cells_.emplace_back().method_label = method;
    rows_.emplace_back().first = &cells_.back();
    worths_[&rows_.back()] = worth;
  }
  const Worths& worths() const { return worths_; }

 private:
  std::deque<Cell> cells_;
  std::deque<Row> rows_;
  Worths worths_;
};

const Worth kYes = {.answer = Answer::kYes};
const Worth kLoses = {.answer = Answer::kNo, .loses = true, .slow = true};
const Worth kSlow = {.answer = Answer::kNo, .slow = true, .timings = 3};

TEST(WorthWords, ASentenceCountsTheVerdicts) {
  JudgedRows rows;
  EXPECT_EQ(worth_sentence(rows.worths()), "");
  rows.add("zero", kLoses);
  EXPECT_EQ(worth_sentence(rows.worths()), "1 method: none worth it, 1 loses too much.");
  rows.add("sdgp", kLoses);
  rows.add("meprop", {.timings = 5});
  EXPECT_EQ(worth_sentence(rows.worths()),
            "3 methods: none worth it, 2 lose too much, 1 undecided (needs 5 more timings).");
  rows.add("meprop", {.timings = 1, .seeds = 2, .same_time = true});
  rows.add("random", kYes);
  rows.add("random", kSlow);
  rows.add("random", {.answer = Answer::kNo, .beaten = true});
  EXPECT_EQ(worth_sentence(rows.worths()),
            "7 rows of 4 methods: 1 worth it, 2 lose too much, 1 not faster, 1 no better than "
            "shorter exact training, 2 undecided (need up to 5 more timings, 2 more seeds, exact "
            "training of the same time).");
}

TEST(WorthWords, WhatUndecidedRowsLack) {
  JudgedRows rows;
  rows.add("zero", kSlow);
  EXPECT_EQ(lacks_text(rows.worths()), "");
  rows.add("sdgp", {.timings = 5});
  rows.add("meprop", {.timings = 1, .seeds = 2});
  EXPECT_EQ(lacks_text(rows.worths()), "5 more timings, 2 more seeds");
}

TEST(WorthWords, WordsOfAVerdict) {
  EXPECT_EQ(worth_text(kYes), "✔ yes");
  EXPECT_EQ(worth_text(kLoses), "✘ loses too much");
  EXPECT_EQ(worth_text(kSlow), "✘ not faster");
  EXPECT_EQ(worth_text({.answer = Answer::kNo, .beaten = true}), "✘ exact training is as good");
  EXPECT_EQ(worth_text({}), "? undecided");
  EXPECT_EQ(worth_text({.timings = 1}), "? needs 1 more timing");
  EXPECT_EQ(worth_text({.any_seeds = true}), "? needs more seeds");
}

// A scale is no part of the name that a sweep is asked for by.
class SweepCommand : public ReportTest {};

TEST_F(SweepCommand, NamesFileAndScale) {
  for (const auto& [id, words] : std::vector<std::pair<std::string, std::vector<std::string>>>{
           {"test:one", {"sweep", "test.toml"}},
           {"test:one:reduced", {"sweep", "test.toml", "--scale", "reduced"}}}) {
    std::filesystem::remove(path_);
    RunStore(path_, Mode::kWrite).add_experiment(experiment_of({planned("dense", 0)}, id), "sweep");
    const Snapshot snapshot(path_);
    EXPECT_EQ(sweep_command(snapshot, id), words);
    EXPECT_EQ(sweep_command(snapshot, "@" + id), words);
    EXPECT_EQ(sweep_command(snapshot, ""), words) << "the only one";
  }
  EXPECT_TRUE(sweep_command(Snapshot(path_), "another").empty());
}

// The verdict is there where it is asked for, and nowhere else.
class VerdictColumn : public ReportTest {};

TEST_F(VerdictColumn, IsForAPersonAtAScreen) {
  std::vector<Ran> runs;
  for (int64_t seed = 0; seed < 6; ++seed) {
    runs.push_back(accuracy("dense", seed, {0.9}));
    runs.push_back(accuracy("zero", seed, {0.5 + 0.01 * static_cast<double>(seed)}));
    runs.push_back(timing("zero", 2000, seed, seed + 1));
  }
  fill(runs);
  const Table whole = made("table", path_);
  EXPECT_EQ(std::ranges::count(whole.columns, "verdict"), 0);
  EXPECT_EQ(whole.screen.headline, "");
  EXPECT_TRUE(whole.screen.next.empty());
  ReportOptions options;
  options.verdicts = true;
  const Table shown = made("table", path_, options);
  EXPECT_EQ(at(shown, "dense", "verdict"), Field("–"));
  EXPECT_EQ(at(shown, "zero", "verdict"), Field("✘ loses too much"));
  EXPECT_EQ(shown.screen.headline, "1 method: none worth it, 1 loses too much.");
  EXPECT_EQ(shown.screen.next, (std::vector<std::string>{"report", "advice"}));
}

TEST_F(VerdictColumn, SaysWhatIsLacking) {
  fill({accuracy("dense", 0, {0.9}), accuracy("zero", 0, {0.9}), timing("zero", 2000, 0)});
  ReportOptions options;
  options.verdicts = true;
  const Table shown = made("advice", path_, options);
  EXPECT_EQ(shown.screen.headline,
            "1 method: none worth it, 1 undecided (needs 9 more timings, 5 more seeds).");
  EXPECT_EQ(at(made("table", path_, options), "zero", "verdict"),
            Field("? needs 9 more timings, 5 more seeds"));
}

}  // namespace
}  // namespace approx
