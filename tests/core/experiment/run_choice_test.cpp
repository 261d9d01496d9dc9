#include "core/experiment/run_choice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <set>

#include "base/error.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

constexpr const char* kChoiceGrid = R"(
network = ["small_cnn", "resnet20"]
dataset = "mnist14"
method = ["dense", { label = "Zero gradient", method = "zero" }, "random"]
schedule = "wang2019_s1"
seeds = "0-10"
purpose = ["accuracy", "timing"]
exclude = { method = "random", network = "resnet20", reason = "too long" }
)";

Experiment experiment_of_text(const std::string& text) {
  return parse_experiment(text, "x.toml", {}, test_catalogue(),
                          [](const std::string&) { return "sha"; });
}

// What tells one run of kChoiceGrid from another.
std::string identity(const PlannedRun& run) {
  return fmt::format("{} {} {}", run.method_label, run.network_label, run.key);
}

std::vector<std::string> chosen(const RunPatterns& patterns) {
  Experiment experiment = experiment_of_text(kChoiceGrid);
  choose_runs(experiment, patterns);
  std::vector<std::string> runs;
  for (const auto& run : experiment.runs()) runs.push_back(identity(run));
  return runs;
}

std::string choice_message(const RunPatterns& patterns, const std::string& text = kChoiceGrid) {
  try {
    Experiment experiment = experiment_of_text(text);
    choose_runs(experiment, patterns);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "no error";
}

TEST(RunChoice, NamesSayTheLabelsOfTheAxes) {
  const auto names = run_names(experiment_of_text(kChoiceGrid).runs());
  EXPECT_EQ(names[0], "method=dense network=small_cnn dataset=mnist14 purpose=accuracy seed=0");
  EXPECT_EQ(names[1],
            "method=Zero gradient schedule=wang2019_s1 network=small_cnn dataset=mnist14 "
            "purpose=accuracy seed=0");
  for (const auto& name : names) EXPECT_EQ(name.find("blocks="), name.npos) << name;
}

TEST(RunChoice, NamesSayInWhichSettingsRunsDiffer) {
  const auto experiment = experiment_of_text(R"(
network = "small_cnn"
dataset = "mnist14"
method = "zero"
batch_size = [32, 64]
threads = [1, 2]
)");
  std::vector<std::string> apart = settings_apart(experiment.runs());
  std::sort(apart.begin(), apart.end());
  EXPECT_EQ(apart,
            (std::vector<std::string>{"batch_size=32 threads=1", "batch_size=32 threads=2",
                                      "batch_size=64 threads=1", "batch_size=64 threads=2"}));
  const auto names = run_names(experiment.runs());
  EXPECT_TRUE(names[0].ends_with(" seed=0 batch_size=32 threads=1")) << names[0];
}

// By another engine of regular expressions: what is left is what some `only` and no `skip` matches,
// in its order.
TEST(RunChoice, LeavesWhatIsAskedFor) {
  const auto all = experiment_of_text(kChoiceGrid).runs();
  const auto names = run_names(all);
  const std::vector<RunPatterns> cases = {{{}, {}},
                                          {{"resnet20"}, {}},
                                          {{"seed=1"}, {}},
                                          {{"seed=1( |$)"}, {}},
                                          {{"method=(dense|Zero gradient) .*seed=[0-3]$"}, {}},
                                          {{"dense", "random"}, {}},
                                          {{}, {"purpose=timing"}},
                                          {{"method=Zero"}, {"seed=[^0]", "small_cnn"}},
                                          {{"."}, {"seed=10"}}};
  std::set<size_t> sizes;
  for (const auto& [only, skip] : cases) {
    std::vector<std::string> expected;
    for (size_t i = 0; i < all.size(); ++i) {
      const auto matches = [&](const std::string& pattern) {
        return std::regex_search(names[i], std::regex(pattern, std::regex::extended));
      };
      const bool in = only.empty() || std::any_of(only.begin(), only.end(), matches);
      const bool out = std::any_of(skip.begin(), skip.end(), matches);
      if (in && !out) expected.push_back(identity(all[i]));
    }
    EXPECT_EQ(chosen({only, skip}), expected);
    sizes.insert(expected.size());
  }
  EXPECT_GT(sizes.size(), 5u);
}

TEST(RunChoice, APatternThatMatchesNothingIsAMistake) {
  EXPECT_EQ(choice_message({{"resnet2O"}, {}}),
            "--only: \"resnet2O\" matches none of 126 runs (did you mean \"resnet20\"?); the first "
            "is \"method=dense network=small_cnn dataset=mnist14 purpose=accuracy seed=0\"");
  EXPECT_NE(choice_message({{}, {"seed=11"}}).find("--skip: \"seed=11\" matches none"),
            std::string::npos);
  // The second of two is looked at, too.
  EXPECT_NE(choice_message({{"dense", "vgg"}, {}}).find("\"vgg\" matches none"), std::string::npos);
  EXPECT_EQ(choice_message({{"dense"}, {"dense"}}), "--only, --skip: none of 126 runs is left");
}

TEST(RunChoice, RefusesWhatIsNoPattern) {
  EXPECT_NE(
      choice_message({{"seed=(1"}, {}}).find("--only: \"seed=(1\" is not a regular expression"),
      std::string::npos);
  EXPECT_EQ(choice_message({{}, {""}}), "--skip: an empty pattern");
  EXPECT_NE(choice_message({{std::string(1001, 'a')}, {}}).find("1000 characters"),
            std::string::npos);
  EXPECT_NE(choice_message({{"a"}, {}}, "not_run = \"no\"").find("is not a grid of runs"),
            std::string::npos);
}

// A label as long as a file may have it.
TEST(RunChoice, LongLabelsAreMatched) {
  const std::string label(4000, 'x');
  const std::string text = fmt::format(
      "network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = [\"dense\", {{label = \"{}\", "
      "method = \"zero\"}}]\n",
      label);
  Experiment experiment = experiment_of_text(text);
  choose_runs(experiment, {{"(x|y)*x seed|method=(x|y)*x "}, {}});
  ASSERT_EQ(experiment.runs().size(), 1u);
  EXPECT_EQ(experiment.runs()[0].method_label, label);
}

}  // namespace
}  // namespace approx
