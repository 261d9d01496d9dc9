#include "core/config/rate_points.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "core/config/recipe.h"
#include "core/experiment/iso_time.h"

namespace approx {
namespace {

std::string refusal_of_points(const std::string& text) {
  try {
    check(parse_rate_points(text));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(RatePoints, AreATextOfPairs) {
  const std::vector<RatePoint> points = {{0, 0.2}, {0.23, 1}, {1, 0.07}};
  EXPECT_EQ(parse_rate_points("0:0.2,0.23:1,1:0.07"), points);
  EXPECT_EQ(parse_rate_points(" 0 : 0.2, 0.23:1.0 ,1:7e-2"), points);
  EXPECT_EQ(to_text(points), "0:0.2,0.23:1,1:0.07");
  EXPECT_EQ(parse_rate_points(""), std::vector<RatePoint>());
  EXPECT_EQ(to_text({}), "");
  EXPECT_EQ(to_text(parse_rate_points("0:-0,1:1e-9")), "0:0,1:1e-09");
}

TEST(RatePoints, AreRefusedWithOneLine) {
  EXPECT_EQ(refusal_of_points("0:0,0.2:1,1:0"), "");
  for (const char* text : {"0", "0:1,", "0:1:2,1:1", "a:1,1:1", "0:,1:1", ",0:1", "0:nan,1:1",
                           "0:1;1:1", "0:inf,1:1", "::"}) {
    EXPECT_NE(refusal_of_points(text).find("expected pairs SHARE:FACTOR"), std::string::npos)
        << text;
  }
  EXPECT_EQ(refusal_of_points("0:1,0.5,1:1"),
            "rate_points: \"0.5\" in \"0:1,0.5,1:1\": expected pairs SHARE:FACTOR such as "
            "\"0:0.2,0.23:1,1:0.07\"");
  for (const char* text : {"0.1:1,1:1", "0:1,0.9:1", "0:1", "1:1", "0:1,2:1", "-1:1,1:1"}) {
    EXPECT_EQ(refusal_of_points(text), std::string("rate_points = \"") + text +
                                           "\": the first share must be 0 and the last 1");
  }
  for (const char* text : {"0:1,0.5:1,0.5:2,1:1", "0:1,0.6:1,0.4:2,1:1", "0:1,2:1,1:1"}) {
    EXPECT_EQ(refusal_of_points(text),
              std::string("rate_points = \"") + text + "\": shares must rise");
  }
  EXPECT_EQ(refusal_of_points("0:1,1:-0.5"),
            "rate_points = \"0:1,1:-0.5\": factors must be 0 or more");
}

TEST(RatePoints, AreStraightLinesBetween) {
  const auto points = parse_rate_points("0:0.2,0.25:1,1:0.1");
  EXPECT_DOUBLE_EQ(factor_at(points, 0), 0.2);
  EXPECT_DOUBLE_EQ(factor_at(points, 0.125), 0.6);
  EXPECT_DOUBLE_EQ(factor_at(points, 0.25), 1);
  EXPECT_DOUBLE_EQ(factor_at(points, 0.5), 0.7);
  EXPECT_DOUBLE_EQ(factor_at(points, 1), 0.1);
}

TEST(Recipe, RatePointsAndTheirScheduleGoTogether) {
  Recipe recipe;
  from_json({{"lr_schedule", "points"}, {"rate_points", "0:0,0.3:1.0,1:0"}}, recipe);
  EXPECT_NO_THROW(check(recipe));
  EXPECT_EQ(Json(recipe)["rate_points"], "0:0,0.3:1,1:0");
  EXPECT_EQ(Json(recipe).get<Recipe>(), recipe);
  EXPECT_FALSE(Json(Recipe()).contains("rate_points")) << "the keys of stored runs";
  EXPECT_EQ(every_setting(Recipe())["rate_points"], "");
  EXPECT_THROW(from_json({{"rate_points", "0:1,1"}}, recipe), Error);
  from_json({{"rate_points", "0:1,0.5:1"}}, recipe);
  EXPECT_THROW(check(recipe), Error);
  from_json({{"rate_points", ""}}, recipe);
  EXPECT_THROW(check(recipe), Error);
  from_json({{"rate_points", "0:0,1:0"}, {"lr_schedule", "cosine"}}, recipe);
  EXPECT_THROW(check(recipe), Error) << "points that nothing reads";
}

// Shares say the same of a training of any length, whose beginning another is not.
TEST(Recipe, RatePointsAreNotChangedByTheLength) {
  Recipe recipe;
  from_json({{"lr_schedule", "points"}, {"rate_points", "0:1,1:1"}, {"epochs", 10}}, recipe);
  EXPECT_FALSE(is_prefix_of_longer(recipe));
  EXPECT_TRUE(is_prefix_of_longer(Recipe()));
  EXPECT_EQ(shortened(recipe, 0.5, 0).rate_points, recipe.rate_points);
}

}  // namespace
}  // namespace approx
