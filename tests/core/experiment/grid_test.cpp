// Which runs the axes of an experiment, its extras and its conditions come to.
#include "core/experiment/grid.h"

#include <gtest/gtest.h>

#include <set>

#include "core/config/run_key.h"
#include "tests/core/experiment/experiment_text.h"

namespace approx {
namespace {

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
  const auto rows = conditional_rows(
      parse(with("network = [\"small_cnn\", \"resnet20\"]\nschedule = [{ label = \"A\", layers = "
                 "\"2\", when = { network = \"resnet20\" } }, { label = \"B\", schedule = "
                 "\"wang2019_s1\", when = { method = \"zero\" } }]")));
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
            "x.toml:3:131: method[2].when: applies to no run; delete or correct it");
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
  EXPECT_NE(error("zip = [\"method\", \"seeds\"]").find("\"seeds\" is not an axis"),
            std::string::npos);
  EXPECT_NE(error("zip = \"method\"").find("two axes or more"), std::string::npos);
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

TEST(ParseExperiment, IsTheSameTwice) {
  const auto text = with("seeds = \"0-3\"");
  const auto first = parse(text), second = parse(text);
  ASSERT_EQ(first.runs().size(), second.runs().size());
  for (size_t i = 0; i < first.runs().size(); ++i)
    EXPECT_EQ(first.runs()[i].key, second.runs()[i].key);
}

TEST(ParseExperiment, ASelectionIsAnAxisAndNamesItsRows) {
  const auto experiment = parse(with(R"(method = ["dense", "zero"]
selection = ["none", "random_subset:ratio=0.25", "infobatch"]
purpose = ["accuracy", "timing"])"));
  EXPECT_EQ(
      summary(experiment),
      (std::vector<std::string>{
          "0 accuracy small_cnn dense ", "0 accuracy small_cnn zero wang2019_cnn2",
          "0 accuracy small_cnn random_subset:ratio=0.25 ",
          "0 accuracy small_cnn zero, random_subset:ratio=0.25 wang2019_cnn2",
          "0 accuracy small_cnn infobatch ", "0 accuracy small_cnn zero, infobatch wang2019_cnn2",
          "0 timing small_cnn dense ", "0 timing small_cnn zero wang2019_cnn2",
          "0 timing small_cnn random_subset:ratio=0.25 ",
          "0 timing small_cnn zero, random_subset:ratio=0.25 wang2019_cnn2",
          "0 timing small_cnn infobatch  excluded",
          "0 timing small_cnn zero, infobatch wang2019_cnn2 excluded"}));
  const auto none = parse(with("")), named = parse(with("selection = \"none\""));
  ASSERT_EQ(none.runs().size(), named.runs().size());
  for (size_t i = 0; i < none.runs().size(); ++i) {
    EXPECT_EQ(named.runs()[i].key, none.runs()[i].key) << "keys of stored runs stay";
    EXPECT_EQ(named.runs()[i].method_label, none.runs()[i].method_label);
  }
}

TEST(ParseExperiment, SelectionsHaveConditionsAndExclusionsByTheirMethods) {
  const auto experiment = parse(with(R"(method = ["dense", "zero"]
selection = ["none", { value = "infobatch", when = { method = "dense" } }]
exclude = [{ selection = "infobatch", network = "wang_cnn2", reason = "too slow" }]
network = ["small_cnn", "wang_cnn2"])"));
  EXPECT_EQ(summary(experiment),
            (std::vector<std::string>{
                "0 accuracy small_cnn dense ", "0 accuracy small_cnn zero wang2019_cnn2",
                "0 accuracy wang_cnn2 dense ", "0 accuracy wang_cnn2 zero wang2019_cnn2",
                "0 accuracy small_cnn infobatch ",
                "0 accuracy small_cnn zero, infobatch wang2019_cnn2 excluded",
                "0 accuracy wang_cnn2 infobatch  excluded",
                "0 accuracy wang_cnn2 zero, infobatch wang2019_cnn2 excluded"}));
  EXPECT_NE(experiment_message(with("selection = \"infobach\"")).find("infobatch"),
            std::string::npos);
  EXPECT_NE(experiment_message(with("selection = \"random_subset:ratio=2\"")).find("ratio=2"),
            std::string::npos);
}

}  // namespace
}  // namespace approx
