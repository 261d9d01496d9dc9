#include "cli/serve/line_chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "cli/serve/method_colours.h"
#include "tests/cli/serve/count.h"

namespace approx {
namespace {

Chart chart_of(std::vector<std::pair<double, double>> points, const std::string& label = "zero") {
  return {.title = "Accuracy",
          .x = "epoch",
          .y = "accuracy, %",
          .lines = {{.label = label, .colour = "#0072b2", .open = false, .points = points}}};
}

TEST(LineChart, HasNothingWithoutPoints) {
  EXPECT_EQ(line_chart({}), "");
  EXPECT_EQ(line_chart(chart_of({})), "");
}

TEST(LineChart, DrawsALineBetweenRoundTicks) {
  const auto svg = line_chart(chart_of({{1, 50}, {2, 75}, {3, 80}}));
  EXPECT_TRUE(svg.starts_with("<svg")) << svg;
  EXPECT_EQ(count(svg, "<polyline"), 1u);
  EXPECT_EQ(count(svg, "<circle"), 0u);
  for (const char* tick : {">50<", ">60<", ">70<", ">80<", ">0<", ">3<"}) {
    EXPECT_EQ(count(svg, tick), 1u) << tick << "\n" << svg;
  }
  // From the first tick at the left, and the best value at the top tick: x of 58 + 3/3 * 490.
  EXPECT_NE(svg.find(" 548.0,12.0\""), svg.npos) << svg;
}

TEST(LineChart, MarksASinglePointAndALineThatGoesOn) {
  EXPECT_EQ(count(line_chart(chart_of({{1, 50}})), "<circle"), 1u);
  auto open = chart_of({{1, 50}, {2, 60}});
  open.lines[0].open = true;
  EXPECT_EQ(count(line_chart(open), "<circle"), 1u);
}

TEST(LineChart, LeavesOutWhatHasNoPlace) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = HUGE_VAL;
  const auto plain = line_chart(chart_of({{1, 50}, {2, 60}}));
  EXPECT_EQ(line_chart(chart_of({{1, 50}, {1, nan}, {inf, 1}, {1, -inf}, {1, 1e300}, {2, 60}})),
            plain);
  for (const double value : {0.0, 1.0, -1.0, 1e-300, 1e29, -1e29}) {
    const auto svg = line_chart(chart_of({{0, value}, {0, value}}));
    EXPECT_EQ(count(svg, "nan") + count(svg, "inf"), 0u) << value << "\n" << svg;
    EXPECT_LT(svg.size(), 5000u) << value;
  }
}

TEST(LineChart, EscapesItsTexts) {
  auto chart = chart_of({{1, 50}}, "<script>&\"");
  chart.title = chart.x = chart.y = "</svg><b>";
  chart.lines[0].colour = "\"><b>";
  const auto svg = line_chart(chart);
  EXPECT_EQ(count(svg, "<script"), 0u) << svg;
  EXPECT_EQ(count(svg, "<b>"), 0u) << svg;
  EXPECT_EQ(count(svg, "</svg>"), 1u) << svg;
  EXPECT_EQ(count(svg, "&lt;script&gt;&amp;&quot;"), 1u) << svg;
}

TEST(LineChart, ALongCurveIsThinnedToItsEnd) {
  std::vector<std::pair<double, double>> points;
  for (int i = 0; i <= 100'000; ++i) points.emplace_back(i, i % 7);
  const auto svg = line_chart(chart_of(points));
  EXPECT_LT(svg.size(), 10'000u);
  EXPECT_NE(svg.find(" 548.0,"), svg.npos) << "the last point";
}

TEST(MethodColours, AreThoseOfTheFigures) {
  const auto colours = method_colours({"dense", "zero", "random:std=0.1", "topk_position", "sdgp",
                                       "stochastic_pruning", "topk_crs", "meprop"});
  EXPECT_EQ(colours.at("dense"), "#000000");
  EXPECT_EQ(colours.at("zero"), "#d55e00");
  EXPECT_EQ(colours.at("topk_position"), "#0072b2");
  EXPECT_EQ(colours.at("sdgp"), "#e69f00");
  EXPECT_EQ(colours.at("stochastic_pruning"), "#009e73");
  EXPECT_EQ(colours.at("topk_crs"), "#cc79a7");
  EXPECT_EQ(colours.at("meprop"), "#8c6d46");
}

TEST(MethodColours, LabelsOfOneKindDifferInShade) {
  const auto colours = method_colours({"crs", "crs", "crs_b", "crs_c"});
  EXPECT_EQ(colours.size(), 3u);
  EXPECT_NE(colours.at("crs"), colours.at("crs_b"));
  EXPECT_NE(colours.at("crs_b"), colours.at("crs_c"));
  EXPECT_NE(colours.at("crs"), colours.at("crs_c"));
}

}  // namespace
}  // namespace approx
