#include "core/experiment/experiment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <random>
#include <set>
#include <sstream>
#include <utility>

#include "tests/core/experiment/experiment_text.h"

namespace approx {
namespace {

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
  std::vector<std::string> top = {"id",      "title", "target", "exclude",      "extra",
                                  "report",  "scale", "study",  "kernels",      "not_run",
                                  "picture", "tune",  "zip",    "exact_lengths"};
  top.insert(top.end(), axis_keys().begin(), axis_keys().end());
  check("", top, " = 1");
  std::vector<std::string> recipe = {"base", "when"};
  for (const auto& spec : recipe_specs()) recipe.push_back(spec.name);
  check("recipe = {", recipe, " = 1}");
  check("schedule = {label = \"S\", rules = [{",
        {"layers", "steps", "products", "method", "from", "until", "ranks"}, " = \"1\"}]}");
  const std::vector<std::string> schedule = {
      "label", "schedule", "rules", "matrix", "key",    "when",   "layers", "steps", "products",
      "from",  "method",   "until", "ranks",  "chance", "epochs", "rate",   "rates"};
  check("schedule = {label = \"S\", ", schedule, " = \"1\"}");
  check("schedule = {matrix = [\"1\"], ", schedule, " = \"1\"}");
  check("report = {",
        {"item", "kind", "rows", "columns", "value", "labels", "finding", "margin", "paper",
         "departs", "reencoded"},
        " = \"method\"}");
  check("tune = {", {"learning_rate", "seeds", "length"}, " = \"1\"}");
  check("scale = {", {"reduced", "smoke"}, " = {}}");
  std::vector<std::string> overriding = {"tune", "target", "exclude", "extra",
                                         "zip",  "study",  "kernels", "exact_lengths"};
  overriding.insert(overriding.end(), axis_keys().begin(), axis_keys().end());
  check("scale = {smoke = {", overriding, " = \"1\"}}");
  check("exclude = [{", with_scalars({"method", "schedule", "network", "purpose", "reason"}),
        " = \"zero\"}]");
  check("batch_size = {", {"value", "when"}, " = 1}");
  EXPECT_GT(tried, 35'000);
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

TEST(ParseExperiment, DefaultsToEveryConvolutionButTheFirst) {
  const auto experiment =
      parse("network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = \"zero\"");
  ASSERT_EQ(experiment.runs().size(), 1u);
  EXPECT_EQ(experiment.runs()[0].schedule_label, "slice");
  EXPECT_EQ(experiment.runs()[0].config.schedule, std::vector<Rule>{Rule()});
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

}  // namespace
}  // namespace approx
