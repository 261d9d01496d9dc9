// Grids of flags alone, held to plain loops over what the flags say.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <tuple>

#include "base/numbers.h"
#include "tests/core/experiment/experiment_text.h"

namespace approx {
namespace {

using Texts = std::vector<std::string>;

Experiment grid_of(const Overrides& overrides) {
  return experiment_of_flags(overrides, "grid", test_catalogue(), checksum);
}

std::string grid_message(const Overrides& overrides) {
  try {
    grid_of(overrides);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage) << error.what();
    return error.what();
  }
  return "no error";
}

// Flags, and what they stand for by plain loops.
class FlagMaker {
 public:
  explicit FlagMaker(unsigned seed) : rng_(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(rng_);
  }

  // A piece of a list and its numbers, in hundredths, which `write` writes.
  template <typename Write>
  std::string piece(int64_t low, int64_t high, Write&& write, std::vector<int64_t>& numbers) {
    const int64_t first = pick(low, high), last = std::min(high, first + pick(0, (high - low) / 2));
    const int64_t step = pick(std::max<int64_t>(1, (high - low) / 8), high - low);
    switch (pick(0, 3)) {
      case 0:
        numbers.push_back(first);
        return write(first);
      case 1:
        for (int64_t v = first; v <= last; v += step) numbers.push_back(v);
        return fmt::format("{}-{}+{}", write(first), write(last), write(step));
      case 2: {
        const int64_t factor = pick(2, 4);
        for (int64_t v = first; v <= last; v *= factor) numbers.push_back(v);
        return fmt::format("{}-{}*{}", write(first), write(last), factor);
      }
      default:
        const int64_t one = write(100) == "1.00" ? 100 : 1, end = std::min(high, first + 2 * one);
        for (int64_t v = first; v <= end; v += one) numbers.push_back(v);
        return fmt::format("{}-{}", write(first), write(end));
    }
  }

  // Pieces as flags: each goes on the flag before it, or begins the flag anew.
  void add(Overrides& overrides, const std::string& key, const Texts& pieces) {
    std::string text;
    for (const auto& one : pieces) {
      if (!text.empty() && pick(0, 1) == 0) {
        overrides.axes.emplace_back(key, text);
        text.clear();
      }
      text += text.empty() ? one : "," + one;
    }
    overrides.axes.emplace_back(key, text);
  }

 private:
  std::mt19937 rng_;
};

std::string whole(int64_t number) { return fmt::format("{}", number); }
std::string hundredths(int64_t number) {
  return fmt::format("{}.{:02}", number / 100, number % 100);
}

template <typename T>
bool all_differ(const std::vector<T>& values) {
  return std::set<T>(values.begin(), values.end()).size() == values.size();
}

using Cell = std::tuple<std::string, std::string, int64_t, int64_t, double, int64_t>;

std::vector<Cell> cells_of(const Experiment& experiment) {
  std::vector<Cell> cells;
  for (const auto& run : experiment.runs()) {
    const auto& config = run.config;
    cells.emplace_back(config.network, config.method, config.batch_size, config.recipe.epochs,
                       config.recipe.learning_rate, config.seed);
  }
  std::sort(cells.begin(), cells.end());
  return cells;
}

Texts keys_of(const Experiment& experiment) {
  Texts keys;
  for (const auto& run : experiment.runs()) keys.push_back(run.key);
  return keys;
}

TEST(FlagGrid, IsThatOfPlainLoops) {
  size_t grids = 0, most = 0;
  for (unsigned trial = 0; trial < 300; ++trial) {
    FlagMaker maker(trial);
    Overrides overrides;
    const auto numbers = [&](const char* key, int64_t low, int64_t high) {
      std::vector<int64_t> values;
      Texts pieces;
      for (int64_t n = maker.pick(1, 2); n > 0; --n) {
        pieces.push_back(maker.piece(low, high, whole, values));
      }
      maker.add(overrides, key, pieces);
      return values;
    };
    const auto batches = numbers("batch_size", 8, 20);
    const auto seeds = numbers("seeds", 1, 4);
    Texts networks = {"small_cnn", "resnet20", "vgg19"};
    networks.resize(static_cast<size_t>(maker.pick(1, 2)));
    maker.add(overrides, "network", networks);
    maker.add(overrides, "dataset", {"cifar10"});
    overrides.set.emplace_back("id", "typed");

    Texts methods, method_flags;
    if (maker.pick(0, 1) == 0) methods = method_flags = {"zero"};
    std::vector<int64_t> deviations, kept;
    method_flags.push_back("random:std=" + maker.piece(1, 900, hundredths, deviations));
    for (const auto v : deviations) methods.push_back("random:std=" + hundredths(v));
    const auto k = maker.piece(1, 4, whole, kept);
    method_flags.push_back(fmt::format("topk_position:k={},scale=signed", k));
    for (const auto v : kept) methods.push_back(fmt::format("topk_position:k={},scale=signed", v));
    maker.add(overrides, "method", method_flags);

    std::vector<int64_t> rates, epochs;
    overrides.set.emplace_back("recipe.learning_rate", maker.piece(1, 90, hundredths, rates));
    overrides.set.emplace_back("recipe.epochs", maker.piece(1, 3, whole, epochs));
    if (!all_differ(batches) || !all_differ(seeds)) {
      EXPECT_NE(grid_message(overrides).find(" is given twice"), std::string::npos);
      continue;
    }

    std::vector<Cell> expected;
    for (const auto& network : networks) {
      for (const auto& method : methods) {
        const auto full = test_catalogue().method_params(method).full_text();
        for (const auto batch : batches) {
          for (const auto epoch : epochs) {
            for (const auto rate : rates) {
              for (const auto seed : seeds) {
                expected.emplace_back(network, full, batch, epoch,
                                      parse_real(hundredths(rate)).value(), seed);
              }
            }
          }
        }
      }
    }
    std::sort(expected.begin(), expected.end());
    const auto grid = grid_of(overrides);
    ASSERT_EQ(cells_of(grid), expected) << grid.text;

    const auto saved = parse_experiment(grid.text, "saved.toml", {}, test_catalogue(), checksum);
    ASSERT_EQ(keys_of(saved), keys_of(grid)) << grid.text;
    ASSERT_EQ(saved.id, "typed");
    ++grids;
    most = std::max(most, expected.size());
  }
  EXPECT_GT(grids, 150u);
  EXPECT_GT(most, 200u);
}

TEST(FlagGrid, ItsFileSaysWhatTheFlagsSay) {
  Overrides overrides;
  overrides.axes = {{"network", "resnet20"},
                    {"network", "vgg19"},
                    {"dataset", "cifar10"},
                    {"method", "dense,zero"},
                    {"method", "random:std=0.1-0.9+0.2"},
                    {"batch_size", "32-256*2,300"},
                    {"recipe", "cifar10_quick"},
                    {"purpose", "accuracy,timing"},
                    {"seeds", "0-5"}};
  overrides.set = {{"recipe.epochs", "2,3"}, {"target", "accuracy>=0.5"}};
  overrides.stop_at_target = true;
  const auto grid = grid_of(overrides);
  EXPECT_EQ(grid.text, R"(id = "grid"
network = [ "resnet20", "vgg19" ]
dataset = "cifar10"
recipe = { base = "cifar10_quick", epochs = "2,3" }
method = [ "dense", "zero", "random:std=0.1-0.9+0.2" ]
seeds = "0-5"
batch_size = [ "32-256*2", 300 ]
purpose = [ "accuracy", "timing" ]
stop_at = 0.5
target = "accuracy>=0.5"
)");
  EXPECT_EQ(grid.source, "command line");
  EXPECT_EQ(grid.files.size(), 1u) << "the recipe";
  EXPECT_EQ(grid.runs().size(), 2u * 7u * 5u * 2u * 6u * 2u);
  const auto saved = parse_experiment(grid.text, "grid.toml", {}, test_catalogue(), checksum);
  EXPECT_EQ(keys_of(saved), keys_of(grid));
}

TEST(FlagGrid, ErrorsNameTheFlagInOneLine) {
  const auto with_axis = [](const char* key, const char* text) {
    Overrides overrides;
    overrides.axes = {{"network", "resnet20"}, {"dataset", "cifar10"}};
    if (std::string(key) != "method") overrides.axes.emplace_back("method", "zero");
    overrides.axes.emplace_back(key, text);
    return grid_message(overrides);
  };
  EXPECT_EQ(with_axis("method", "random:std=0.9-0.1"), "--method: \"0.9-0.1\": 0.9 lies above 0.1");
  EXPECT_EQ(with_axis("method", "random:std=9-11"),
            "--method: random: std=11: expected a number from 0 to 10");
  EXPECT_EQ(with_axis("method", "random:std=1-2,random:std=2"),
            "--method: the label \"random:std=2\" is used twice");
  EXPECT_EQ(with_axis("method", "topk_position:k=1-2+0.5"),
            "--method: topk_position: k=1.5: expected an integer of at least 1");
  EXPECT_EQ(with_axis("method", "topk_position:k=1-40,scale=equal,meprop:k=1-40,min_channels=1-40"),
            "--method: \"meprop:k=1-40,min_channels=1-40\": more than 1000 values");
  EXPECT_EQ(with_axis("method", "topk_position:scale=1-2"),
            "--method: topk_position: scale=1-2: expected one of equal, signed, l1, none");
  EXPECT_EQ(with_axis("batch_size", "32-64*2,64"), "--batch-size: 64 is given twice");
  EXPECT_EQ(with_axis("batch_size", "32-64*1"),
            "--batch-size: \"32-64*1\": a step is above 0, a factor above 1");
  EXPECT_EQ(with_axis("batch_size", "32-"), "--batch-size: expected a number, got \"32-\"");
  EXPECT_EQ(with_axis("threads", "0-2"), "--threads: 0: expected an integer from 1 to 4096");
  EXPECT_EQ(with_axis("seeds", "0-5,3"), "--seeds: 3 is given twice");

  Overrides rates;
  rates.axes = {{"network", "resnet20"}, {"dataset", "cifar10"}, {"method", "zero"}};
  rates.set = {{"recipe.learning_rate", "0.1-0.3+0.1,0.2"}};
  EXPECT_EQ(grid_message(rates), "--set recipe.learning_rate=0.1-0.3+0.1,0.2: 0.2 is given twice");
  rates.set = {{"recipe.learning_rate", "0.1,2000"}};
  EXPECT_EQ(grid_message(rates),
            "--set recipe.learning_rate=0.1,2000: 2000: expected a number from 1e-10 to 1000");
}

TEST(FlagGrid, FilesHaveRangesToo) {
  const auto labels = [](const std::string& lines) {
    Texts found;
    const auto experiment = parse(with(lines));
    for (const auto& run : experiment.runs()) {
      found.push_back(fmt::format("{}{}{}", run.method_label, run.config.batch_size,
                                  run.excluded.empty() ? "" : "!"));
    }
    return found;
  };
  // A condition is for every number of its range, and an exclusion may name a range.
  EXPECT_EQ(labels("method = [\"dense\", \"topk_position:k=1-2\"]\nbatch_size = [8, {value = "
                   "\"16-32*2\", when = {method = \"topk_position:k=1-2\"}}]"),
            (Texts{"dense8", "topk_position8", "topk_position:k=28", "dense16!", "topk_position16",
                   "topk_position:k=216", "dense32!", "topk_position32", "topk_position:k=232"}));
  EXPECT_EQ(labels("method = [\"dense\", \"topk_position:k=1-3\"]\nbatch_size = 8\nexclude = "
                   "[{method = \"topk_position:k=2-3\", reason = \"no\"}]"),
            (Texts{"dense8", "topk_position8", "topk_position:k=28!", "topk_position:k=38!"}));
  EXPECT_EQ(labels("method = \"topk_position:k=1-2\"\nbatch_size = \"8-16*2\"\n"
                   "zip = [\"method\", \"batch_size\"]"),
            (Texts{"topk_position8", "topk_position:k=216"}));
  EXPECT_EQ(experiment_message(with("method = {label = \"A\", method = \"topk_position:k=1-2\"}")),
            "x.toml:3:10: method.label: labels one method, but there are 2");
}

}  // namespace
}  // namespace approx
