#include <gtest/gtest.h>

#include <clocale>

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

TEST(Target, HasADecimalPointUnderEveryLocale) {
  const std::string before = std::setlocale(LC_NUMERIC, nullptr);
  for (const char* locale : {"de_DE.UTF-8", "fr_FR.UTF-8"}) {
    if (std::setlocale(LC_NUMERIC, locale) == nullptr) continue;  // not on this machine
    EXPECT_TRUE(parse_target("accuracy>=0.9")) << locale;
    EXPECT_FALSE(parse_target("accuracy>=0,9")) << locale;
  }
  std::setlocale(LC_NUMERIC, before.c_str());
}

}  // namespace
}  // namespace approx
