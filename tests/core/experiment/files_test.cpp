// Experiment files where they lie: the committed ones, and what is no file or a huge one.
#include "core/experiment/files.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "tests/core/experiment/experiment_text.h"

namespace approx {
namespace {

TEST(LoadExperiment, ReadsTheCommittedOnes) {
  const std::string folder = std::string(APPROX_SOURCE_DIR) + "/experiments/";
  struct Case {
    const char* file;
    size_t runs, dense, timing;
  };
  // table2..4: 5 methods x 10 seeds and as many timings; table3 and 5: 10 of ResNet-14 more,
  // timed in table3; table5: dense and 4 methods x 3 schedules. quickstart: 4 methods x 8 seeds,
  // and 10 timings of each.
  for (const auto& [file, runs, dense, timing] :
       {Case{"wang2019/table2.toml", 100, 20, 50}, Case{"wang2019/table3.toml", 120, 40, 60},
        Case{"wang2019/table4.toml", 100, 20, 50}, Case{"wang2019/table5.toml", 140, 20, 0},
        Case{"wang2019/first_results.toml", 120, 12, 100}, Case{"quickstart.toml", 72, 18, 40}}) {
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
    EXPECT_NE(load(name).find("is not the name of an experiment"), std::string::npos) << name;
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

// The examples of docs/experiments.md: each ```toml block is a file, or lines of one.
TEST(Documentation, ItsExamplesAreValid) {
  std::istringstream in(read_text(APPROX_SOURCE_DIR "/docs/experiments.md"));
  std::string line, text;
  bool inside = false;
  int blocks = 0;
  // Before it are whole files for the program's own methods: tests/cli/docs_test.py plans them.
  while (line != "## Keys" && std::getline(in, line)) {
  }
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
