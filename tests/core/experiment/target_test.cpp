#include <gtest/gtest.h>

#include <clocale>
#include <cstdlib>
#include <filesystem>

#include "core/experiment/experiment.h"

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
