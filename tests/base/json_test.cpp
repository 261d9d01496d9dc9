#include "base/json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <tuple>

namespace approx {
namespace {

constexpr const char* kNotHeld64[] = {"9223372036854775808",
                                      "18446744073709551616",
                                      "-9223372036854777856",
                                      "555555555555555555550",
                                      "9.3e18",
                                      "-1e300",
                                      "1e300",
                                      "2.5"};

TEST(Json, IntegersHoldTheNumber) {
  EXPECT_EQ(Json::parse("9223372036854775807").get<int64_t>(), INT64_MAX);
  EXPECT_EQ(Json::parse("-9223372036854775808").get<int64_t>(), INT64_MIN);
  EXPECT_EQ(Json::parse("18446744073709551615").get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(Json::parse("1e3").get<int64_t>(), 1000);
  EXPECT_EQ(Json::parse("-9223372036854775808.0").get<int64_t>(), INT64_MIN);
  EXPECT_EQ(Json::parse("-128").get<int8_t>(), -128);
}

TEST(Json, NumbersThatNoIntegerHoldsAreRefused) {
  for (const char* text : kNotHeld64) {
    EXPECT_THROW(Json::parse(text).get<int64_t>(), Json::out_of_range) << text;
  }
  for (const char* text : {"-1", "18446744073709551616", "-0.5", "1.8446744073709552e19"}) {
    EXPECT_THROW(Json::parse(text).get<uint64_t>(), Json::out_of_range) << text;
  }
  for (const char* text : {"2147483648", "-2147483649", "2147483648.0"}) {
    EXPECT_THROW(Json::parse(text).get<int>(), Json::out_of_range) << text;
  }
  EXPECT_THROW(Json::parse("128").get<int8_t>(), Json::out_of_range);
}

TEST(Json, NumbersInsideOfOthersAreHeldToTheSame) {
  const auto json = Json::parse(R"({"list": [1, 1e40], "pair": [1, 1e40], "deep": [[2.5]]})");
  EXPECT_THROW(json["list"].get<std::vector<int64_t>>(), Json::out_of_range);
  EXPECT_THROW((json["pair"].get<std::pair<double, int64_t>>()), Json::out_of_range);
  EXPECT_THROW((json["pair"].get<std::tuple<int64_t, int>>()), Json::out_of_range);
  EXPECT_THROW(json["deep"].get<std::vector<std::vector<int64_t>>>(), Json::out_of_range);
  EXPECT_THROW((Json::parse(R"({"a": 1e40})").get<std::map<std::string, int64_t>>()),
               Json::out_of_range);
  int64_t value = 7;
  EXPECT_THROW(json["list"].at(1).get_to(value), Json::out_of_range);
  EXPECT_EQ(value, 7);
}

TEST(Json, TheMessageNamesTheNumber) {
  try {
    Json(2.5).get<int>();
    FAIL() << "2.5 became an integer";
  } catch (const Json::exception& error) {
    EXPECT_NE(std::string(error.what()).find("2.5 is no whole number of 32 bits"),
              std::string::npos)
        << error.what();
  }
}

TEST(Json, WhatIsNoNumberIsOfTheWrongType) {
  for (const char* text : {"null", "\"1\"", "[1]", "{}"}) {
    EXPECT_THROW(Json::parse(text).get<int64_t>(), Json::type_error) << text;
  }
  EXPECT_EQ(Json::parse("1e300").get<double>(), 1e300);
  EXPECT_TRUE(Json::parse("true").get<bool>());
}

TEST(HoldsWhole, SaysWhatAConversionWouldTake) {
  for (const char* text : kNotHeld64) EXPECT_FALSE(holds_whole<int64_t>(Json::parse(text))) << text;
  for (const char* text : {"null", "\"1\"", "true", "[1]"}) {
    EXPECT_FALSE(holds_whole<int64_t>(Json::parse(text))) << text;
  }
  EXPECT_TRUE(holds_whole<int64_t>(Json(-3)));
  EXPECT_TRUE(holds_whole<int64_t>(Json(4.0)));
  EXPECT_FALSE(holds_whole<uint8_t>(Json(256)));
}

TEST(JsonText, ReplacesWhatIsNoUtf8) {
  EXPECT_EQ(json_text(Json("a\xff")), "\"a\xef\xbf\xbd\"");
  EXPECT_EQ(json_text(Json{{"a", 1}}, 1), "{\n \"a\": 1\n}");
}

}  // namespace
}  // namespace approx
