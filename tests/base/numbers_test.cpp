#include "base/numbers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

namespace approx {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ParseInteger, TakesAllOfTheTextOrNothing) {
  EXPECT_EQ(parse_integer("-12"), -12);
  EXPECT_EQ(parse_integer("9223372036854775807"), INT64_MAX);
  for (const char* text :
       {"", "-", "+1", " 1", "1 ", "1.0", "1e3", "0x1", "9223372036854775808", "one"}) {
    EXPECT_EQ(parse_integer(text), std::nullopt) << text;
  }
}

TEST(ParseInteger, HoldsToItsRange) {
  EXPECT_EQ(parse_integer("1", 1, 3), 1);
  EXPECT_EQ(parse_integer("3", 1, 3), 3);
  EXPECT_EQ(parse_integer("0", 1, 3), std::nullopt);
  EXPECT_EQ(parse_integer("4", 1, 3), std::nullopt);
}

TEST(ParseReal, TakesFiniteNumbersOfItsRange) {
  EXPECT_EQ(parse_real("0.1"), 0.1);
  EXPECT_EQ(parse_real("-1e-3"), -1e-3);
  EXPECT_EQ(parse_real("2", 1, 2), 2.0);
  EXPECT_EQ(parse_real("2", -kInfinity, kInfinity), 2.0);
  for (const char* text : {"", "nan", "inf", "-inf", "1e999", "0,1", "1s", "+1", " 1", "0x1"}) {
    EXPECT_EQ(parse_real(text, -kInfinity, kInfinity), std::nullopt) << text;
  }
  EXPECT_EQ(parse_real("2.5", 1, 2), std::nullopt);
}

TEST(ParseQuantity, LeavesTheUnit) {
  const auto share = parse_quantity("0.25dur");
  ASSERT_TRUE(share);
  EXPECT_EQ(share->value, 0.25);
  EXPECT_EQ(share->unit, "dur");
  EXPECT_EQ(parse_quantity("12")->unit, "");
  EXPECT_EQ(parse_quantity("1e3s")->value, 1000);
  EXPECT_EQ(parse_quantity("1e3s", std::chars_format::fixed)->unit, "e3s");
  for (const char* text : {"", "s", "inf", "nan", "1e999s"}) {
    EXPECT_FALSE(parse_quantity(text)) << text;
  }
}

TEST(Shortest, ReadsBackAsTheSameNumber) {
  EXPECT_EQ(shortest(0.1), "0.1");
  EXPECT_EQ(shortest(1e-5), "1e-05");
  EXPECT_EQ(shortest(-kInfinity), "-inf");
  EXPECT_EQ(shortest(std::copysign(NAN, -1)), "nan");
  for (const double value : {1.0 / 3, 1e300, -0.0078125, 5e-324}) {
    EXPECT_EQ(parse_real(shortest(value)), value);
  }
}

TEST(SpecialNumbers, SurviveJson) {
  EXPECT_EQ(json_number(1.5), Json(1.5));
  EXPECT_EQ(special_name(1.5), std::nullopt);
  for (const double value : {kInfinity, -kInfinity, double{NAN}}) {
    EXPECT_TRUE(json_number(value).is_null());
    const auto name = special_name(value);
    ASSERT_TRUE(name);
    const double back = special_value(*name);
    EXPECT_TRUE(back == value || (std::isnan(back) && std::isnan(value))) << *name;
  }
  EXPECT_EQ(special_name(kInfinity), "+inf");
  EXPECT_EQ(special_value("inf"), kInfinity);
  EXPECT_TRUE(std::isnan(special_value("anything")));
}

}  // namespace
}  // namespace approx
