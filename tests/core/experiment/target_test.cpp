#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "base/error.h"
#include "core/experiment/experiment.h"
#include "tests/core/config/test_catalogue.h"

namespace approx {
namespace {

TEST(Target, IsAnAccuracyAndAShare) {
  for (const char* text : {"accuracy>=0.915", " accuracy >= 0.915 ", "accuracy>=9.15e-1"}) {
    const auto target = parse_target(text);
    ASSERT_TRUE(target) << text;
    EXPECT_EQ(target->metric, "accuracy");
    EXPECT_DOUBLE_EQ(target->value, 0.915);
  }
  EXPECT_EQ(parse_target("accuracy>=1")->value, 1);
  for (const char* text :
       {"", "0.9", "accuracy", "accuracy>=", "accuracy>=0", "accuracy>=-0.5", "accuracy>=1.5",
        "accuracy>=nan", "accuracy>=0.9x", "accuracy>=0,9", "accuracy>0.9", "loss>=0.9"}) {
    EXPECT_FALSE(parse_target(text)) << text;
  }
}

Experiment stopping(const std::string& more, bool stop_at_target = true) {
  return parse_experiment(
      "network = \"small_cnn\"\ndataset = \"mnist14\"\nmethod = [\"dense\", \"zero\"]\n"
      "purpose = [\"accuracy\", \"timing\"]\n" +
          more,
      "x.toml", {.stop_at_target = stop_at_target}, test_catalogue(),
      [](const std::string&) { return "sha"; });
}

TEST(Target, EndsAccuracyRunsWhereThatIsAskedFor) {
  const std::string text =
      "target = \"accuracy>=0.9\"\nextra = [{ label = \"Small\", method = \"dense\", "
      "network = \"resnet20\" }]\n";
  std::set<std::string> keys, timings;
  for (const bool stops : {true, false}) {
    const auto experiment = stopping(text, stops);
    for (const auto& run : experiment.runs()) {
      const bool timing = run.config.purpose == Purpose::kTiming;
      EXPECT_EQ(run.config.stop_at, stops && !timing ? 0.9 : 0);
      (timing ? timings : keys).insert(run.key);
    }
  }
  EXPECT_EQ(keys.size(), 2u * 3u);
  EXPECT_EQ(timings.size(), 3u) << "a timing has no accuracy to stop at";
  // The same by a key of the file, and the same run.
  const auto by_key = stopping("stop_at = 0.9\n" + text, false);
  for (const auto& run : by_key.runs()) {
    if (run.config.purpose == Purpose::kAccuracy) {
      EXPECT_TRUE(keys.contains(run.key));
    }
  }
  for (const char* wrong : {"stop_at = 1.5", "stop_at = -0.1", "stop_at = true"}) {
    EXPECT_THROW(stopping(wrong, false), Error) << wrong;
  }
}

// Left out where it takes no part, so that such a run is stored as the one without it.
TEST(Target, APatienceIsOfAccuracyRunsThatItCanEnd) {
  const auto patience_of = [](const std::string& text, Purpose purpose) {
    std::set<int64_t> found;
    for (const auto& run : stopping(text, false).runs()) {
      if (run.config.purpose == purpose) found.insert(run.config.patience);
    }
    return found;
  };
  const std::string text = "recipe = { epochs = 10 }\npatience = ";
  EXPECT_EQ(patience_of(text + "3", Purpose::kAccuracy), std::set<int64_t>{3});
  EXPECT_EQ(patience_of(text + "3", Purpose::kTiming), std::set<int64_t>{0});
  EXPECT_EQ(patience_of(text + "9", Purpose::kAccuracy), std::set<int64_t>{0});
  EXPECT_EQ(patience_of(text + "[0, 3]", Purpose::kAccuracy), (std::set<int64_t>{0, 3}));
  for (const char* wrong : {"patience = -1", "patience = 1.5", "patience = true"}) {
    EXPECT_THROW(stopping(wrong, false), Error) << wrong;
  }
}

TEST(Target, MustBeThereToStopAt) {
  try {
    stopping("");
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "--stop-at-target: x.toml has no target; give one with --set "
                 "target=accuracy>=SHARE");
  }
}

// Under a locale that is made here: few machines have one with a comma.
TEST(Target, HasADecimalPointUnderEveryLocale) {
  std::string folder = ::testing::TempDir() + "approxtrain-XXXXXX";
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  const std::string made = folder + "/de_DE.UTF-8";
  std::system(("localedef -i de_DE -f UTF-8 '" + made + "' > /dev/null 2>&1").c_str());
  ::setenv("LOCPATH", folder.c_str(), 1);
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  const bool is_set = std::setlocale(LC_NUMERIC, "de_DE.UTF-8") != nullptr;
  ::unsetenv("LOCPATH");
  std::filesystem::remove_all(folder);
  if (!is_set) {
    GTEST_SKIP() << "no locale can be made (scripts/setup --checks installs what it takes)";
  }
  EXPECT_EQ(std::string(std::localeconv()->decimal_point), ",");
  EXPECT_TRUE(parse_target("accuracy>=0.9"));
  EXPECT_FALSE(parse_target("accuracy>=0,9"));
  std::setlocale(LC_NUMERIC, before.c_str());
}

}  // namespace
}  // namespace approx
