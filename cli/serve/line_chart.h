// A small chart as SVG, made without another program.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace approx {

struct ChartLine {
  std::string label;                              // shown where a pointer rests on the line
  std::string colour;                             // "#0072b2"
  bool open = false;                              // goes on: drawn bolder, its end marked
  std::vector<std::pair<double, double>> points;  // in the order of x
};

struct Chart {
  std::string title;  // what it is called where it is not seen
  std::string x, y;   // words at the axes
  std::vector<ChartLine> lines;
};

// An <svg> element, 560 by 300 units, all text escaped; "" where no line has a point. Numbers
// that are not finite, or beyond 1e30, are left out. Text and axes have the classes "word", "tick",
// "grid" and "axis" of the page's style. Black is the text's colour.
std::string line_chart(const Chart& chart);

}  // namespace approx
