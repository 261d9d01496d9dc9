#include "core/experiment/experiment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include "base/error.h"
#include "base/range.h"
#include "core/config/run_key.h"
#include "core/experiment/files.h"
#include "generated/source_dir.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

std::string checksum(const std::string& dataset) {
  if (dataset == "mnist15") throw usage_error("unknown data set \"mnist15\"");
  return "sha of " + dataset;
}

Experiment parse(const std::string& text, const Overrides& overrides = {}) {
  return parse_experiment(text, "x.toml", overrides, test_catalogue(), checksum);
}

std::string experiment_message(const std::string& text, const Overrides& overrides = {}) {
  try {
    parse(text, overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return error.what();
  }
  return "no error";
}

std::string read_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  EXPECT_TRUE(in.good()) << path;
  return text.str();
}

const std::vector<std::string>& base_lines() {
  static const std::vector<std::string> lines = {"network = \"small_cnn\"", "dataset = \"mnist14\"",
                                                 "method = [\"dense\", \"zero\"]",
                                                 "schedule = \"wang2019_cnn2\""};
  return lines;
}

// The base experiment with `text`'s lines in place of those with the same key, or after them.
std::string with(const std::string& text) {
  if (!text.empty() && text[0] == '!') return text.substr(1);
  auto lines = base_lines();
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    const auto key = line.substr(0, line.find(" ="));
    bool replaced = false;
    for (auto& known : lines) {
      if (known.substr(0, known.find(" =")) != key) continue;
      known = line;
      replaced = true;
    }
    if (!replaced) lines.push_back(line);
  }
  std::string joined;
  for (const auto& line : lines) joined += line + "\n";
  return joined;
}

std::vector<std::string> summary(const Experiment& experiment) {
  std::vector<std::string> rows;
  for (const auto& run : experiment.runs()) {
    rows.push_back(fmt::format("{} {} {} {} {}{}", run.config.seed, name(run.config.purpose),
                               run.network_label, run.method_label, run.schedule_label,
                               run.excluded.empty() ? "" : " excluded"));
  }
  return rows;
}

TEST(ParseExperiment, RefusesMalformedFilesWithPlaceAndReason) {
  std::istringstream in(
      read_text(APPROX_SOURCE_DIR "/tests/core/experiment/malformed_experiments.txt"));
  // Run with a file name in APPROXTRAIN_WRITE to write the messages as they are, for review.
  const char* written = std::getenv("APPROXTRAIN_WRITE");
  std::ofstream out;
  if (written != nullptr) out.open(written);
  std::string text, line;
  int cases = 0;
  while (std::getline(in, line)) {
    if (line.starts_with('#')) {
      out << line << "\n";
      continue;
    }
    if (line.rfind("==", 0) != 0) {
      text += line + "\n";
      continue;
    }
    const auto message = experiment_message(with(text));
    const auto expected = "x.toml:" + line.substr(std::min(line.size(), size_t{3}));
    EXPECT_EQ(message, expected) << text;
    EXPECT_EQ(message.find('\n'), std::string::npos);
    out << text << "== " << message.substr(message.find(':') + 1) << "\n";
    text.clear();
    ++cases;
  }
  EXPECT_GE(cases, 60);
}

// Of each word that is one slip away from one of `keys` and none of them: those that it is a slip
// of. A slip drops, adds, replaces or swaps letters.
std::map<std::string, std::set<std::string>> slips_of(const std::vector<std::string>& keys) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyz_";
  std::map<std::string, std::set<std::string>> slips;
  for (const auto& key : keys) {
    std::set<std::string> words;
    for (size_t i = 0; i <= key.size(); ++i) {
      for (const char letter : letters) {
        words.insert(key.substr(0, i) + letter + key.substr(i));
        if (i < key.size()) words.insert(key.substr(0, i) + letter + key.substr(i + 1));
      }
      if (i < key.size()) words.insert(key.substr(0, i) + key.substr(i + 1));
      if (i + 1 < key.size()) {
        words.insert(key.substr(0, i) + key[i + 1] + key[i] + key.substr(i + 2));
      }
    }
    for (const auto& word : words) {
      if (!word.empty()) slips[word].insert(key);
    }
  }
  for (const auto& key : keys) slips.erase(key);
  return slips;
}

// Every known key, misspelt by any one edit, is refused with its place, and found again.
TEST(ParseExperiment, SuggestsTheKeyThatWasMeant) {
  int64_t tried = 0;
  const auto check = [&](const std::string& before, const std::vector<std::string>& keys,
                         const std::string& after) {
    for (const auto& [slip, meant] : slips_of(keys)) {
      ++tried;
      const auto message = experiment_message(with(before + slip + after));
      const bool found =
          std::any_of(meant.begin(), meant.end(), [&, &slip = slip](const std::string& key) {
            return message.ends_with(slip + ": unknown key (did you mean \"" + key + "\"?)");
          });
      ASSERT_TRUE(found) << slip << ": " << message;
      ASSERT_EQ(message.find("x.toml:"), 0u) << message;
    }
  };
  std::vector<std::string> top = {"id",      "title", "target", "exclude", "extra",
                                  "report",  "scale", "study",  "kernels", "not_run",
                                  "picture", "tune",  "zip"};
  top.insert(top.end(), axis_keys().begin(), axis_keys().end());
  check("", top, " = 1");
  std::vector<std::string> recipe = {"base", "when"};
  for (const auto& spec : recipe_specs()) recipe.push_back(spec.name);
  check("recipe = {", recipe, " = 1}");
  check("schedule = {label = \"S\", rules = [{",
        {"layers", "steps", "products", "method", "from", "until", "ranks"}, " = \"1\"}]}");
  check("exclude = [{", with_scalars({"method", "schedule", "network", "purpose", "reason"}),
        " = \"zero\"}]");
  check("batch_size = {", {"value", "when"}, " = 1}");
  EXPECT_GT(tried, 35'000);
}

TEST(ParseExperiment, ExpandsSeedsOutermostAndDenseOnce) {
  const auto experiment = parse(with(R"(seeds = [3, 1]
network = ["wang_cnn2", "small_cnn"]
schedule = ["wang2019_s1", {label = "all", layers = "::1"}])"));
  EXPECT_EQ(summary(experiment),
            (std::vector<std::string>{
                "3 accuracy wang_cnn2 dense ", "3 accuracy wang_cnn2 zero wang2019_s1",
                "3 accuracy wang_cnn2 zero all", "3 accuracy small_cnn dense ",
                "3 accuracy small_cnn zero wang2019_s1", "3 accuracy small_cnn zero all",
                "1 accuracy wang_cnn2 dense ", "1 accuracy wang_cnn2 zero wang2019_s1",
                "1 accuracy wang_cnn2 zero all", "1 accuracy small_cnn dense ",
                "1 accuracy small_cnn zero wang2019_s1", "1 accuracy small_cnn zero all"}));
  std::set<std::string> keys;
  for (const auto& run : experiment.runs()) {
    EXPECT_EQ(run.key, run_key(run.config, "sha of mnist14", test_catalogue()));
    EXPECT_GE(run.config.threads, 1);
    keys.insert(run.key);
    if (run.config.method == "dense") {
      EXPECT_TRUE(run.config.schedule.empty());
    }
  }
  // Schedule 1 and "all" are the same on two convolutions but not in their rules: all differ.
  EXPECT_EQ(keys.size(), experiment.runs().size());
}

TEST(ParseExperiment, ATimingIsTenProcessesUnlessToldOtherwise) {
  EXPECT_EQ(
      summary(parse(with("seeds = \"1-2\"\npurpose = [\"timing\", \"accuracy\"]\n"
                         "method = \"zero\""))),
      (std::vector<std::string>{
          "1 accuracy small_cnn zero wang2019_cnn2", "1 timing small_cnn zero wang2019_cnn2",
          "2 accuracy small_cnn zero wang2019_cnn2", "2 timing small_cnn zero wang2019_cnn2"}));
  const auto timed = [](const std::string& lines, const Overrides& overrides = {}) {
    std::string seeds;
    const std::string head = "network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"zero\"\n";
    const auto experiment = parse(head + lines, overrides);
    for (const auto& run : experiment.runs()) {
      if (run.config.purpose == Purpose::kTiming) seeds += fmt::format("{} ", run.config.seed);
    }
    return seeds;
  };
  EXPECT_EQ(timed("seeds = \"1-12\"\npurpose = \"timing\""), "1 2 3 4 5 6 7 8 9 10 ");
  EXPECT_EQ(timed("seeds = \"1-3\"\npurpose = \"timing\""), "1 2 3 ");
  EXPECT_EQ(timed("seeds = \"1-3\"\npurpose = \"timing\"\ntiming_seeds = \"2-3\""), "2 3 ");
  // They are processes, and may be more than there are seeds to train.
  const std::string more =
      "seeds = \"0-2\"\npurpose = [\"accuracy\", \"timing\"]\ntiming_seeds = \"0-4\"\n"
      "[scale.reduced]\nseeds = \"0-1\"\n"
      "[scale.smoke]\nseeds = 0\ntiming_seeds = \"3-4\"";
  EXPECT_EQ(timed(more), "0 1 2 3 4 ");
  // Fewer seeds by a flag or a scale are fewer processes, where it does not say how many.
  EXPECT_EQ(timed(more, {.axes = {{"seeds", "1-2"}}}), "1 2 ");
  EXPECT_EQ(timed(more, {.axes = {{"seeds", "7"}}}), "7 ");
  EXPECT_EQ(timed(more, {.axes = {{"seeds", "1"}, {"timing_seeds", "0-1"}}}), "0 1 ");
  EXPECT_EQ(timed(more, {.scale = Scale::kReduced}), "0 1 ");
  EXPECT_EQ(timed(more, {.scale = Scale::kSmoke}), "3 4 ");
}

TEST(ParseExperiment, TakesListsOfScalarsAsAxes) {
  const auto experiment =
      parse(with("batch_size = [32, 64]\nprecision = [\"fp32\", \"bf16\"]\n"
                 "method = \"zero\"\nblocks = 3\ntrain_examples = 100"));
  ASSERT_EQ(experiment.runs().size(), 4u);
  EXPECT_EQ(experiment.runs()[0].config.batch_size, 32);
  EXPECT_EQ(experiment.runs()[0].config.precision, Precision::kFp32);
  EXPECT_EQ(experiment.runs()[3].config.batch_size, 64);
  EXPECT_EQ(experiment.runs()[3].config.precision, Precision::kBf16);
  EXPECT_EQ(experiment.runs()[3].config.blocks, 3);
  EXPECT_EQ(experiment.runs()[3].config.train_examples, 100);
}

TEST(ParseExperiment, ASubsetIsThatOfTheSeedUnlessItIsSharedAndIsInTheKey) {
  const auto first = [](const std::string& more) {
    return parse(with("method = \"zero\"\n" + more)).runs().at(0);
  };
  const auto own = first("train_examples = 100");
  EXPECT_EQ(own.config.train_subset, SubsetKind::kSeed);
  const auto shared = first("train_examples = 100\ntrain_subset = \"shared\"");
  EXPECT_NE(own.key, shared.key);
  // Where all images are trained on there is no subset, and the key knows nothing of one.
  EXPECT_EQ(first("").key, first("train_subset = \"shared\"").key);
  EXPECT_FALSE(Json(first("").config).contains("train_subset"));
}

TEST(ParseExperiment, FillsInNamesTargetsAndReports) {
  const auto experiment = parse(with(R"(target = "accuracy>=0.915"
title = "A title"
report = {rows = "schedule", columns = "method", value = {quantity = "accuracy"}, paper = [[2.5, "–"]]})"));
  EXPECT_EQ(experiment.id, "x");
  EXPECT_EQ(experiment.title, "A title");
  EXPECT_EQ(experiment.source, "x.toml");
  EXPECT_EQ(experiment.target->value, 0.915);
  EXPECT_EQ(experiment.report.dump(),
            R"({"columns":"method","paper":[[2.5,"–"]],"rows":"schedule",)"
            R"("value":{"quantity":"accuracy"}})");
  EXPECT_EQ(experiment.runs()[1].config.method, "zero:freeze=false");
  EXPECT_EQ(experiment.runs()[1].config.network, "small_cnn");
  EXPECT_EQ(parse(with("")).target, std::nullopt);
  EXPECT_TRUE(parse(with("")).report.is_null());
}

TEST(ParseExperiment, ExcludesByLabelTextAndScalar) {
  const auto experiment = parse(with(R"(method = ["dense", {label = "Z", method = "zero"}, "random"]
schedule = ["wang2019_s1", "wang2019_s2"]
precision = ["fp32", "bf16"]
exclude = [{method = "zero:freeze=false", schedule = "wang2019_s2", reason = "first"}, {method = ["Z", "random"], precision = "bf16", reason = "second"}])"));
  int excluded = 0;
  for (const auto& run : experiment.runs()) {
    const bool first = run.method_label == "Z" && run.schedule_label == "wang2019_s2";
    const bool second = run.config.method != "dense" && run.config.precision == Precision::kBf16;
    EXPECT_EQ(run.excluded, first ? "first" : second ? "second" : "");
    excluded += run.excluded.empty() ? 0 : 1;
  }
  EXPECT_EQ(experiment.runs().size(), 10u);
  EXPECT_EQ(excluded, 5);
}

// "method schedule batch" of each run.
std::vector<std::string> rows_of(const Experiment& experiment) {
  std::vector<std::string> rows;
  for (const auto& run : experiment.runs()) {
    rows.push_back(
        fmt::format("{} {} {}", run.method_label, run.schedule_label, run.config.batch_size));
  }
  return rows;
}

TEST(ParseExperiment, ZippedAxesGoTogether) {
  const std::string axes =
      "method = [\"zero\", \"random\"]\n"
      "schedule = [\"wang2019_s1\", \"wang2019_s2\"]\n"
      "batch_size = [64, 128]\n";
  EXPECT_EQ(rows_of(parse(with(axes + "zip = [\"method\", \"schedule\"]"))),
            (std::vector<std::string>{"zero wang2019_s1 64", "random wang2019_s2 64",
                                      "zero wang2019_s1 128", "random wang2019_s2 128"}));
  EXPECT_EQ(rows_of(parse(with(axes + "zip = [[\"method\", \"batch_size\"]]"))),
            (std::vector<std::string>{"zero wang2019_s1 64", "zero wang2019_s2 64",
                                      "random wang2019_s1 128", "random wang2019_s2 128"}));
  EXPECT_EQ(rows_of(parse(with(axes + "zip = [\"method\", \"schedule\", \"batch_size\"]"))),
            (std::vector<std::string>{"zero wang2019_s1 64", "random wang2019_s2 128"}));
}

// Dense has no schedule, with which one ever it goes.
TEST(ParseExperiment, DenseIsOneCellAmongZippedAxesToo) {
  EXPECT_EQ(rows_of(parse(with("method = [\"dense\", \"zero\"]\n"
                               "schedule = [\"wang2019_s1\", \"wang2019_s2\"]\n"
                               "zip = [\"method\", \"schedule\"]"))),
            (std::vector<std::string>{"dense  128", "zero wang2019_s2 128"}));
}

// An extra that has an axis of its own does not go by the grid's groups of it.
TEST(ParseExperiment, AnExtraZipsItsOwnAxes) {
  const auto experiment =
      parse(with("method = [\"zero\", \"random\"]\nbatch_size = [64, 128]\n"
                 "zip = [\"method\", \"batch_size\"]\n"
                 "extra = [{method = \"meprop\", batch_size = [16, 32]}, "
                 "{method = [\"topk_position\", \"topk_position:k=2\"], batch_size = [1, 2], "
                 "zip = [\"method\", \"batch_size\"]}]"));
  std::vector<std::string> rows;
  for (const auto& run : experiment.runs()) {
    rows.push_back(fmt::format("{} {}", run.method_label, run.config.batch_size));
  }
  EXPECT_EQ(rows, (std::vector<std::string>{"zero 64", "random 128", "meprop 16", "meprop 32",
                                            "topk_position 1", "topk_position:k=2 2"}));
}

// "label network batch rate" of each run, with the reason where it is excluded.
std::vector<std::string> conditional_rows(const Experiment& experiment) {
  std::vector<std::string> rows;
  for (const auto& run : experiment.runs()) {
    rows.push_back(fmt::format("{} {} {} {}", run.method_label, run.network_label,
                               run.config.batch_size, run.config.recipe.learning_rate));
    if (!run.excluded.empty()) rows.back() += ": " + run.excluded;
  }
  return rows;
}

TEST(ParseExperiment, AValueMayBelongToSomeCellsAlone) {
  const std::string two =
      "network = [\"small_cnn\", { label = \"R20\", network = \"resnet20\" }]\n";
  EXPECT_EQ(
      conditional_rows(parse(
          with(two + "method = [\"dense\", { method = \"zero\", when = { network = \"R20\" } }]"))),
      (std::vector<std::string>{"dense small_cnn 128 0.1",
                                "zero small_cnn 128 0.1: method zero is for network R20 alone",
                                "dense R20 128 0.1", "zero R20 128 0.1"}));
  EXPECT_EQ(
      conditional_rows(
          parse(with(two + "method = \"dense\"\nbatch_size = [64, { value = 32, when = "
                           "{ network = [\"resnet20\"], purpose = \"accuracy\" } }]"))),
      (std::vector<std::string>{"dense small_cnn 64 0.1", "dense R20 64 0.1",
                                "dense small_cnn 32 0.1: batch_size 32 is for network R20 and "
                                "purpose accuracy alone",
                                "dense R20 32 0.1"}));
}

TEST(ParseExperiment, ALearningRateMayBelongToOneNetwork) {
  const std::string text =
      "network = [\"small_cnn\", \"resnet20\"]\nmethod = \"dense\"\n"
      "recipe = [{ learning_rate = 0.4, when = { network = \"small_cnn\" } }, "
      "{ learning_rate = 0.2, when = { network = \"resnet20\" } }]\n";
  EXPECT_EQ(conditional_rows(parse(with(text))),
            (std::vector<std::string>{
                "dense small_cnn 128 0.4",
                "dense resnet20 128 0.4: this recipe is for network small_cnn alone",
                "dense small_cnn 128 0.2: this recipe is for network resnet20 alone",
                "dense resnet20 128 0.2"}));
  // The same by axes that go together, in which the other cells are none.
  EXPECT_EQ(
      conditional_rows(parse(with("network = [\"small_cnn\", \"resnet20\"]\nmethod = \"dense\"\n"
                                  "recipe = [{ learning_rate = 0.4 }, { learning_rate = 0.2 }]\n"
                                  "zip = [\"network\", \"recipe\"]"))),
      (std::vector<std::string>{"dense small_cnn 128 0.4", "dense resnet20 128 0.2"}));
  // What a flag sets is set in each.
  Overrides epochs;
  epochs.set = {{"recipe.epochs", "7"}};
  const auto longer = parse(with(text), epochs);
  ASSERT_EQ(longer.runs().size(), 4u);
  for (const auto& run : longer.runs()) EXPECT_EQ(run.config.recipe.epochs, 7);
  EXPECT_EQ(longer.runs()[0].config.recipe.learning_rate, 0.4);
  EXPECT_EQ(longer.runs()[2].config.recipe.learning_rate, 0.2);
}

// A dense run has no schedule, so none can be wrong for it.
TEST(ParseExperiment, AScheduleForOneNetworkLeavesDenseAlone) {
  const auto rows = conditional_rows(parse(
      with("network = [\"small_cnn\", \"resnet20\"]\nschedule = [{ label = \"A\", layers = \"2\", "
           "when = "
           "{ network = \"resnet20\" } }, { label = \"B\", schedule = \"wang2019_s1\", when = "
           "{ method = \"zero\" } }]")));
  using Rows = std::vector<std::string>;
  EXPECT_EQ(rows, (Rows{"dense small_cnn 128 0.1",
                        "zero small_cnn 128 0.1: schedule A is for network resnet20 alone",
                        "zero small_cnn 128 0.1", "dense resnet20 128 0.1", "zero resnet20 128 0.1",
                        "zero resnet20 128 0.1"}));
}

// What an extra names by its label keeps its condition; what it says itself has its own.
TEST(ParseExperiment, ExtrasKeepConditions) {
  const auto rows =
      conditional_rows(parse(with("network = [\"small_cnn\", \"resnet20\"]\n"
                                  "method = [\"dense\", { label = \"Z\", method = \"zero\", when = "
                                  "{ network = \"resnet20\" } }]\n"
                                  "extra = [{ label = \"More\", method = \"Z\", batch_size = 8 }, "
                                  "{ method = \"zero\", batch_size = [4, { value = 2, when = { "
                                  "network = \"small_cnn\" } }] }]")));
  using Rows = std::vector<std::string>;
  EXPECT_EQ(
      Rows(rows.begin() + 4, rows.end()),
      (Rows{"More small_cnn 8 0.1: method Z is for network resnet20 alone", "More resnet20 8 0.1",
            "zero small_cnn 4 0.1", "zero resnet20 4 0.1", "zero small_cnn 2 0.1",
            "zero resnet20 2 0.1: batch_size 2 is for network small_cnn alone"}));
}

TEST(ParseExperiment, AConditionThatHoldsNowhereIsAMistake) {
  const std::string text =
      "method = [\"dense\", { method = \"zero\", when = { schedule = \"wang2019_cnn2\", network = "
      "\"small_cnn\" } }, { method = \"random\", when = { batch_size = 7 } }]";
  EXPECT_EQ(experiment_message(with(text)),
            "x.toml:3:131: method[2].when: holds in no run; delete or correct it");
  // A flag may take away what it is about.
  Overrides overrides;
  overrides.axes = {{"network", "resnet20"}};
  EXPECT_EQ(parse(with(text), overrides).runs().size(), 3u);
}

TEST(ParseExperiment, WhatCannotBeZippedIsSaid) {
  const auto error = [](const std::string& text) {
    return experiment_message(with("method = [\"zero\", \"random\"]\n" + text));
  };
  EXPECT_NE(error("batch_size = [1, 2, 3]\nzip = [\"method\", \"batch_size\"]")
                .find("2 of method and 3 of batch_size"),
            std::string::npos);
  EXPECT_NE(error("zip = [\"method\", \"seeds\"]").find("\"seeds\" is no axis"), std::string::npos);
  EXPECT_NE(error("zip = \"method\"").find("goes with nothing"), std::string::npos);
  EXPECT_NE(error("batch_size = [1, 2]\nthreads = [1, 2]\n"
                  "zip = [[\"method\", \"batch_size\"], [\"threads\", \"method\"]]")
                .find("method is named twice"),
            std::string::npos);
}

TEST(ParseExperiment, KeepsWhatCannotRunWithItsReason) {
  const auto experiment =
      parse(with("network = [\"small_cnn\", \"resnet20\"]\n"
                 "method = [\"dense\", \"zero\", \"forward_only\"]\n"
                 "schedule = [\"wang2019_s1\", {label = \"deep\", layers = 9}]"));
  EXPECT_EQ(experiment.runs().size(), 10u);
  std::vector<std::string> reasons;
  for (const auto& run : experiment.runs()) {
    if (!run.excluded.empty()) reasons.push_back(run.excluded);
  }
  ASSERT_EQ(reasons.size(), 4u);
  EXPECT_EQ(reasons[0],
            "layers = \"9\": 9:10:1 matches no layer; the network has convolutions 1 to 2");
  EXPECT_EQ(reasons[1], "forward_only cannot approximate weight_gradient; it approximates forward");
}

// Of a schedule that is for a part of the training there are accuracy runs alone.
TEST(ParseExperiment, ExcludesTimingsThatDoNotComeByTheirSchedule) {
  const std::string text =
      "network = \"small_cnn\"\nmethod = [\"dense\", \"zero\"]\n"
      "purpose = [\"accuracy\", \"timing\"]\n"
      "schedule = [{label = \"all\", layers = \"::1\"}, {label = \"half\", until = \"0.5dur\"}]\n";
  const auto experiment = parse(with(text));
  EXPECT_EQ(summary(experiment),
            (std::vector<std::string>{
                "0 accuracy small_cnn dense ", "0 accuracy small_cnn zero all",
                "0 accuracy small_cnn zero half", "0 timing small_cnn dense ",
                "0 timing small_cnn zero all", "0 timing small_cnn zero half excluded"}));
  EXPECT_NE(experiment.runs()[5].excluded.find("begins or ends (until = \"0.5dur\")"),
            std::string::npos);
  // The file's own reason goes first.
  const auto named = parse(with(
      text + "exclude = [{schedule = \"half\", purpose = \"timing\", reason = \"not timed\"}]\n"));
  EXPECT_EQ(named.runs()[5].excluded, "not timed");
}

TEST(ParseExperiment, ReadsAMatrixThatMixesMethods) {
  const auto experiment = parse(with(R"(method = ["dense", "mixed"]
network = "small_cnn"
schedule = {label = "Figure 3", matrix = [".ZRZ", "A.R."], key = {Z = "zero", R = "random", A = "topk_position"}, products = "weight_gradient"})"));
  ASSERT_EQ(experiment.runs().size(), 2u);
  EXPECT_EQ(experiment.runs()[1].config.method, "mixed");
  EXPECT_EQ(experiment.runs()[1].config.schedule.size(), 5u);
  EXPECT_EQ(experiment.runs()[1].excluded, "");
}

// Layers beyond its last row would be exact, and nothing would say so.
TEST(ParseExperiment, AMatrixIsForANetworkOfAsManyConvolutions) {
  const auto experiment =
      parse(with("network = [\"small_cnn\", \"resnet20\"]\nmethod = \"zero\"\n"
                 "schedule = {label = \"M\", matrix = [\"*.\", \"..\"]}"));
  ASSERT_EQ(experiment.runs().size(), 2u);
  EXPECT_EQ(experiment.runs()[0].excluded, "");
  EXPECT_EQ(experiment.runs()[1].excluded,
            "matrix: 2 rows, and the network has 19 convolutions; write a row for each, of dots "
            "where it is exact");
}

TEST(ParseExperiment, ReadsRules) {
  const auto experiment = parse(with(R"(method = "zero"
schedule = {label = "two", rules = [{layers = 2, steps = "::2", until = "0.5dur"}, {layers = "1", method = "random", products = ["weight_gradient"]}]})"));
  EXPECT_EQ(experiment.runs()[0].config.schedule,
            (std::vector<Rule>{{"2", "::2", {}, "", "", "0.5dur"},
                               {"1", "::1", {Product::kWeightGradient}, "random", "", ""}}));
}

TEST(ParseExperiment, AddsExtraRows) {
  const auto experiment = parse(with(R"(method = [{label = "Full", method = "dense"}, "zero"]
purpose = ["accuracy", "timing"]
seeds = "0-1"
extra = [{label = "Smaller", method = "Full", network = "resnet14", purpose = "accuracy"}])"));
  EXPECT_EQ(summary(experiment),
            (std::vector<std::string>{
                "0 accuracy small_cnn Full ", "0 accuracy small_cnn zero wang2019_cnn2",
                "0 accuracy resnet14 Smaller ", "0 timing small_cnn Full ",
                "0 timing small_cnn zero wang2019_cnn2", "1 accuracy small_cnn Full ",
                "1 accuracy small_cnn zero wang2019_cnn2", "1 accuracy resnet14 Smaller ",
                "1 timing small_cnn Full ", "1 timing small_cnn zero wang2019_cnn2"}));
}

TEST(ParseExperiment, DefaultsToEveryConvolutionButTheFirst) {
  const auto experiment =
      parse("network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"zero\"");
  ASSERT_EQ(experiment.runs().size(), 1u);
  EXPECT_EQ(experiment.runs()[0].schedule_label, "slice");
  EXPECT_EQ(experiment.runs()[0].config.schedule, std::vector<Rule>{Rule()});
}

// A million seeds held against a million timed ones, each with each, would take hours.
TEST(Overrides, SeedsWithoutNumberAreCountedAndRefused) {
  Overrides overrides;
  overrides.axes = {{"seeds", "0-999999"}};
  EXPECT_EQ(experiment_message("network = \"small_cnn\"\ndataset = \"mnist14\"\n"
                               "method = \"dense\"\npurpose = [\"accuracy\", \"timing\"]\n"
                               "timing_seeds = \"0-999999\"\n",
                               overrides),
            "x.toml:1:1: the grid has 2000000 runs; at most 100000 are expanded, so split it");
}

TEST(Overrides, AxesReplaceAxesAndDropTheExtrasThatGiveThem) {
  const auto text = with(R"(seeds = "0-9"
timing_seeds = 0
extra = [{label = "Smaller", method = "dense", network = "resnet14"}]
exclude = [{method = "zero", reason = "no"}])");
  Overrides overrides;
  overrides.axes = {{"method", "topk_position:k=2,scale=signed,random"},
                    {"schedule", "slice:layers=2::4,steps=::2,wang2019_s1"},
                    {"seeds", "4,6"},
                    {"batch_size", "32,64"},
                    {"threads", "1"}};
  const auto experiment = parse(text, overrides);
  EXPECT_EQ(experiment.runs().size(), 16u);
  EXPECT_EQ(experiment.runs()[0].config.method, "topk_position:k=2,scale=signed");
  EXPECT_EQ(experiment.runs()[0].schedule_label, "slice:layers=2::4,steps=::2");
  EXPECT_EQ(experiment.runs()[1].schedule_label, "wang2019_s1");
  EXPECT_EQ(experiment.runs()[2].config.method, "random:std=0.0078125");
  EXPECT_EQ(experiment.runs()[0].config.seed, 4);
  EXPECT_EQ(experiment.runs()[0].config.threads, 1);
  EXPECT_EQ(experiment.runs()[15].config.batch_size, 64);
}

TEST(Overrides, AnExtraKeepsOfItsOwnSettingsWhatTheFlagNamesToo) {
  const auto text = with(R"(method = [{label = "Full", method = "dense"}, "zero"]
purpose = ["accuracy", "timing"]
seeds = "0-3"
threads = 1
extra = [{label = "A", method = "Full", network = "resnet14", seeds = "0-1", timing_seeds = 1}, {label = "B", method = "Full", network = "resnet14", purpose = "timing"}, {label = "C", method = "Full", network = "resnet14", threads = [1, 2]}])");
  const auto labels = [&](std::vector<std::pair<std::string, std::string>> axes) {
    Overrides overrides;
    overrides.axes = std::move(axes);
    std::vector<std::string> found;
    const auto experiment = parse(text, overrides);
    for (const auto& run : experiment.runs()) {
      if (run.network_label != "resnet14") continue;
      found.push_back(fmt::format("{}{}{}{}", run.method_label, run.config.seed,
                                  run.config.purpose == Purpose::kTiming ? "t" : "a",
                                  run.config.threads));
    }
    std::sort(found.begin(), found.end());
    return found;
  };
  using List = std::vector<std::string>;
  EXPECT_EQ(labels({{"purpose", "accuracy"}, {"seeds", "0"}}), (List{"A0a1", "C0a1", "C0a2"}));
  // Timed seeds none of which is run any more are replaced by the first.
  EXPECT_EQ(labels({{"purpose", "timing"}, {"seeds", "0"}}),
            (List{"A0t1", "B0t1", "C0t1", "C0t2"}));
  EXPECT_EQ(labels({{"purpose", "timing"}, {"seeds", "0-1"}}),
            (List{"A1t1", "B0t1", "B1t1", "C0t1", "C0t2", "C1t1", "C1t2"}));
  EXPECT_EQ(labels({{"purpose", "accuracy"}, {"seeds", "3"}, {"threads", "2"}}), (List{"C3a2"}));
  EXPECT_EQ(labels({{"method", "zero"}}), List{}) << "the labels are gone";
  EXPECT_EQ(labels({{"network", "resnet20"}}), List{});
}

// The hand-made catalogue with what the committed files name beside it.
const Catalogue& committed_catalogue() {
  static const Catalogue catalogue = [] {
    Catalogue made = test_catalogue();
    for (auto& method : made.methods) {
      if (method.name == "topk_position") method.params.push_back({"factor", 1.0, "", 0});
    }
    MethodInfo sdgp;
    sdgp.name = "sdgp";
    sdgp.products = {Product::kDataGradient};
    made.methods.push_back(sdgp);
    for (auto& network : made.networks) {
      if (network.name == "small_cnn") network.params = {{"width", int64_t{16}, "", 1}};
    }
    return made;
  }();
  return catalogue;
}

TEST(Overrides, SetReachesIntoARecipeByName) {
  const auto source = std::string(APPROX_SOURCE_DIR) + "/experiments/quickstart.toml";
  Overrides overrides;
  overrides.set = {
      {"recipe.epochs", "2"},       {"recipe.flip", "true"}, {"recipe.optimizer", "adam"},
      {"recipe.nesterov", "false"}, {"title", "a b"},        {"target", "accuracy>=0.5"}};
  const auto experiment = load_experiment(source, overrides, committed_catalogue(), checksum);
  EXPECT_EQ(experiment.runs()[0].config.recipe.epochs, 2);
  EXPECT_TRUE(experiment.runs()[0].config.recipe.flip);
  EXPECT_EQ(experiment.runs()[0].config.recipe.optimizer, UpdateRule::kAdam);
  EXPECT_EQ(experiment.runs()[0].config.recipe.lr_schedule, RateSchedule::kOneCycle)
      << "from the file";
  EXPECT_EQ(experiment.title, "a b");
}

TEST(Overrides, ErrorsNameTheFlag) {
  const auto axis = [](const char* key, const char* value) {
    Overrides overrides;
    overrides.axes = {{key, value}};
    return experiment_message(with(""), overrides);
  };
  const auto set = [](const char* key, const char* value) {
    Overrides overrides;
    overrides.set = {{key, value}};
    return experiment_message(with(""), overrides);
  };
  EXPECT_EQ(axis("method", "zero,randm").substr(0, 61),
            "--method: unknown method \"randm\" (did you mean \"random\"?); kn");
  EXPECT_EQ(axis("batch_size", "0"), "--batch-size: 0: expected an integer from 1 to 65536");
  EXPECT_EQ(axis("batch_size", "x"), "--batch-size: expected a number, got \"x\"");
  EXPECT_EQ(axis("seeds", ""), "--seeds: an empty value");
  EXPECT_EQ(axis("seeds", "3-1"), "--seeds: \"3-1\": 3 lies above 1");
  EXPECT_EQ(axis("methods", "zero"),
            "--methods: is no axis of an experiment (did you mean \"method\"?)");
  EXPECT_EQ(set("recipe.epoch", "2"),
            "--set recipe.epoch=2: unknown key (did you mean \"recipe.epochs\"?)");
  EXPECT_EQ(set("recipe.epochs", "two"), "--set recipe.epochs=two: expected a number, got \"two\"");
  EXPECT_EQ(set("seed", "2"), "--set seed=2: unknown key (did you mean \"seeds\"?)");
  EXPECT_EQ(set("target", "x\ny = 3").find("--set target="), 0u);
}

TEST(ParseRange, AgreesWithANaiveExpander) {
  EXPECT_EQ(parse_range("3"), (std::vector<int64_t>{3}));
  EXPECT_EQ(parse_range("1, 5,0-2"), (std::vector<int64_t>{1, 5, 0, 1, 2}));
  EXPECT_EQ(parse_range("1-100*10"), (std::vector<int64_t>{1, 10, 100}));
  EXPECT_EQ(parse_range("9223372036854775806-9223372036854775807").size(), 2u);
  EXPECT_EQ(parse_range("1-9223372036854775807*2").size(), 63u);
  std::mt19937 rng(4);
  const auto pick = [&rng](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng);
  };
  for (int trial = 0; trial < 3000; ++trial) {
    std::string text;
    std::vector<int64_t> expected;
    for (int64_t pieces = pick(1, 4); pieces > 0; --pieces) {
      const int64_t first = pick(1, 30), last = first + pick(0, 300), change = pick(2, 9);
      if (!text.empty()) text += ',';
      switch (pick(0, 3)) {
        case 0:
          text += fmt::format("{}", first);
          expected.push_back(first);
          break;
        case 1:
          text += fmt::format("{}-{}", first, last);
          for (int64_t v = first; v <= last; ++v) expected.push_back(v);
          break;
        case 2:
          text += fmt::format("{}-{}+{}", first, last, change);
          for (int64_t v = first; v <= last; v += change) expected.push_back(v);
          break;
        default:
          text += fmt::format("{}-{}*{}", first, last, change);
          for (int64_t v = first; v <= last; v *= change) expected.push_back(v);
      }
    }
    EXPECT_EQ(parse_range(text), expected) << text;
  }
}

TEST(ParseRange, RefusesWhatIsNone) {
  for (const char* text : {"",
                           ",",
                           "1,",
                           "a",
                           "-1",
                           "1-",
                           "-",
                           "3-1",
                           "0-9+0",
                           "0-9*1",
                           "0-9*2",
                           "1-9*0",
                           "1-9+",
                           "1+2",
                           "1*2",
                           "1-2-3",
                           "1.5",
                           "0-99999999999",
                           "99999999999999999999",
                           "1-9+2+2",
                           "0x3"}) {
    EXPECT_THROW(parse_range(text), Error) << text;
  }
}

TEST(LoadExperiment, ReadsTheCommittedOnes) {
  const std::string folder = std::string(APPROX_SOURCE_DIR) + "/experiments/";
  struct Case {
    const char* file;
    size_t runs, dense, timing;
  };
  // table2..4: 5 methods x 10 seeds and as many timings; table3 and 5: 10 of ResNet-14 more,
  // timed in table3; table5: dense and 4 methods x 3 schedules. quickstart: 4 methods x 6 seeds,
  // and 5 timings of each.
  for (const auto& [file, runs, dense, timing] :
       {Case{"wang2019/table2.toml", 100, 20, 50}, Case{"wang2019/table3.toml", 120, 40, 60},
        Case{"wang2019/table4.toml", 100, 20, 50}, Case{"wang2019/table5.toml", 140, 20, 0},
        Case{"wang2019/first_results.toml", 120, 12, 100}, Case{"quickstart.toml", 44, 11, 20}}) {
    const auto experiment = load_experiment(folder + file, {}, committed_catalogue(), checksum);
    EXPECT_EQ(experiment.runs().size(), runs) << file;
    size_t n_dense = 0, n_timing = 0;
    std::set<std::string> keys;
    for (const auto& run : experiment.runs()) {
      n_dense += run.config.method == "dense" ? 1 : 0;
      n_timing += run.config.purpose == Purpose::kTiming ? 1 : 0;
      EXPECT_EQ(run.excluded, "") << file;
      keys.insert(run.key);
    }
    EXPECT_EQ(n_dense, dense) << file;
    EXPECT_EQ(n_timing, timing) << file;
    EXPECT_EQ(keys.size(), runs) << file;
    EXPECT_FALSE(experiment.report.is_null()) << file;
  }
  const auto table2 =
      load_experiment(folder + "wang2019/table2.toml", {}, committed_catalogue(), checksum);
  EXPECT_EQ(table2.runs()[0].config.recipe.epochs, 500);
  EXPECT_EQ(table2.runs()[0].config.recipe.optimizer, UpdateRule::kAdam);
  EXPECT_EQ(table2.runs()[0].config.recipe.eval_every, 10);
}

TEST(LoadExperiment, FindsNamesAndSuggestsThem) {
  const auto before = std::filesystem::current_path();
  std::filesystem::current_path(APPROX_SOURCE_DIR);
  const auto load = [](const std::string& name) {
    try {
      return load_experiment(name, {}, committed_catalogue(), checksum).id;
    } catch (const Error& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(load("@wang2019:table5"), "wang2019:table5");
  EXPECT_EQ(load("wang2019/table5"), "wang2019:table5");
  EXPECT_EQ(load("quickstart"), "quickstart");
  EXPECT_NE(load("quikstart").find("did you mean \"quickstart\"?"), std::string::npos);
  EXPECT_NE(load("@wang2019:table6").find("did you mean \"wang2019:table"), std::string::npos);
  EXPECT_EQ(load("nowhere.toml"), "nowhere.toml: there is no such file");
  for (const char* name : {"", "@", "../experiments/quickstart", "/etc/passwd", "a b"}) {
    EXPECT_NE(load(name).find("is no name of an experiment"), std::string::npos) << name;
  }
  EXPECT_EQ(load("/.toml/").substr(0, 1), "\"");
  std::filesystem::current_path(before);
}

TEST(LoadExperiment, RefusesFoldersAndHugeFilesQuickly) {
  const auto folder = std::filesystem::temp_directory_path() / "approxtrain_experiment_test.toml";
  std::filesystem::create_directories(folder);
  EXPECT_THROW(load_experiment(folder.string(), {}, test_catalogue(), checksum), Error);
  const auto file = folder / "huge.toml";
  std::ofstream(file).put('#');
  std::filesystem::resize_file(file, 100'000'000);
  try {
    load_experiment(file.string(), {}, test_catalogue(), checksum);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(":1:1: the text is larger than 1 MB"),
              std::string::npos);
  }
  std::filesystem::remove_all(folder);
}

TEST(ParseExperiment, SurvivesOddBytes) {
  std::string crlf;
  for (const auto& line : base_lines()) crlf += line + "\r\n";
  EXPECT_EQ(parse("\xEF\xBB\xBF" + crlf).runs().size(), 2u);
  EXPECT_NE(experiment_message("\xFF\xFE" + crlf).find("x.toml:1:"), std::string::npos);
  EXPECT_NE(experiment_message(crlf + std::string("a\0b = 1", 7)).find("x.toml:5:"),
            std::string::npos);
  const auto deep = with("report = " + std::string(5000, '['));
  EXPECT_NE(experiment_message(deep).find("x.toml:5:"), std::string::npos);
  std::string dotted = "a";
  for (int i = 0; i < 200'000; ++i) dotted += ".a";
  EXPECT_NE(experiment_message(with(dotted + " = 1")).find("dots"), std::string::npos);
  dotted.resize(9'000);
  EXPECT_NE(experiment_message(with(dotted + "a = 1")).find("unknown key"), std::string::npos);
}

// Bytes flipped, cut and doubled in a good file: an Error or an experiment, never a crash.
TEST(ParseExperiment, SurvivesMutations) {
  const auto good = read_text(std::string(APPROX_SOURCE_DIR) + "/experiments/wang2019/table5.toml");
  std::mt19937 rng(5);
  int refused = 0;
  for (int trial = 0; trial < 300; ++trial) {
    auto text = good;
    for (int n = 0; n < 3; ++n) {
      const auto at = rng() % text.size();
      switch (rng() % 4) {
        case 0:
          text[at] = static_cast<char>(rng());
          break;
        case 1:
          text.erase(at, rng() % 20);
          break;
        case 2:
          text.insert(at, text.substr(rng() % text.size(), rng() % 20));
          break;
        default:
          std::swap(text[at], text[rng() % text.size()]);
      }
    }
    try {
      parse_experiment(text, APPROX_SOURCE_DIR "/experiments/wang2019/x.toml", {}, test_catalogue(),
                       checksum);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
      EXPECT_NE(std::string(error.what()).find("toml:"), std::string::npos) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 50);
}

TEST(ParseExperiment, IsTheSameTwice) {
  const auto text = with("seeds = \"0-3\"");
  const auto first = parse(text), second = parse(text);
  ASSERT_EQ(first.runs().size(), second.runs().size());
  for (size_t i = 0; i < first.runs().size(); ++i)
    EXPECT_EQ(first.runs()[i].key, second.runs()[i].key);
}

// The examples of docs/experiments.md: each ```toml block is a file, or lines of one.
TEST(Documentation, ItsExamplesAreValid) {
  std::istringstream in(read_text(APPROX_SOURCE_DIR "/docs/experiments.md"));
  std::string line, text;
  bool inside = false;
  int blocks = 0;
  while (std::getline(in, line)) {
    if (line == "```toml") {
      inside = true;
      text.clear();
    } else if (line == "```" && inside) {
      inside = false;
      ++blocks;
      // A fragment is set into a small experiment.
      std::string whole = text;
      if (text.find("network =") == std::string::npos) {
        whole = "network = \"resnet20\"\ndataset = \"cifar10\"\n";
        if (text.find("method =") != 0) whole += "method = [\"dense\", \"zero\", \"random\"]\n";
        whole += text;
      }
      EXPECT_NO_THROW(parse_experiment(whole, APPROX_SOURCE_DIR "/experiments/x.toml", {},
                                       test_catalogue(), checksum))
          << whole;
    } else if (inside) {
      text += line + "\n";
    }
  }
  EXPECT_GE(blocks, 5);
}

}  // namespace
}  // namespace approx
