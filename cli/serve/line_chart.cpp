#include "cli/serve/line_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "results/render/html_text.h"

namespace approx {
namespace {

constexpr double kWidth = 560, kHeight = 300;
constexpr double kLeft = 58, kRight = 12, kTop = 12, kBottom = 44;
constexpr size_t kMostPoints = 300;     // of a line: more are not seen
constexpr double kLargestValue = 1e30;  // beyond it a point is left out, and the axes stay finite

// One axis: which values it has, and where they are drawn.
class Axis {
 public:
  Axis(double least, double most, double from, double to) : from_(from), to_(to) {
    // Room around a single value, or what is as good as one.
    const double size = std::max(std::abs(least), std::abs(most));
    if (!(most - least > 1e-9 * size)) {
      const double room = size == 0 ? 1 : size * 0.05;
      least -= room, most += room;
    }
    constexpr double kSteps = 5;
    const double rough = (most - least) / kSteps;
    const double power = std::pow(10, std::floor(std::log10(rough)));
    step_ = power;
    for (const double factor : {2.0, 5.0, 10.0}) {
      if (step_ < rough) step_ = factor * power;
    }
    first_ = std::floor(least / step_) * step_;
    last_ = std::ceil(most / step_) * step_;
  }

  double at(double value) const {
    return from_ + (value - first_) / (last_ - first_) * (to_ - from_);
  }

  std::vector<double> ticks() const {
    std::vector<double> values;
    const auto count = std::lround((last_ - first_) / step_);
    // Rounded: 0.1 + 0.2 is no tick that anybody wants to read.
    for (long i = 0; i <= count; ++i) {
      const double value = first_ + static_cast<double>(i) * step_;
      values.push_back(std::round(value / step_) * step_);
    }
    return values;
  }

 private:
  double from_, to_, first_ = 0, last_ = 1, step_ = 1;
};

std::string tick_text(double value) { return fmt::format("{:.6g}", value == 0 ? 0.0 : value); }

std::string text(double x, double y, const char* css_class, const char* anchor,
                 const std::string& words) {
  return fmt::format("<text class=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n",
                     css_class, x, y, anchor, html_escape(words));
}

std::string line_svg(const ChartLine& line, const Axis& x, const Axis& y) {
  if (line.points.empty()) return "";
  const std::string colour = line.colour == "#000000" ? "currentColor" : line.colour;
  const size_t stride = (line.points.size() - 1) / kMostPoints + 1;
  std::string points;
  for (size_t i = 0; i < line.points.size(); ++i) {
    if (i % stride != 0 && i + 1 != line.points.size()) continue;
    const auto& [a, b] = line.points[i];
    points += fmt::format("{}{:.1f},{:.1f}", points.empty() ? "" : " ", x.at(a), y.at(b));
  }
  const auto& [a, b] = line.points.back();
  const bool dot = line.open || line.points.size() == 1;
  std::string out =
      fmt::format("<g fill=\"none\" stroke=\"{}\" stroke-width=\"{}\">\n<title>{}</title>\n",
                  html_escape(colour), line.open ? 2.4 : 1.3, html_escape(line.label));
  out += fmt::format("<polyline points=\"{}\"/>\n", points);
  if (dot) {
    out += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n", x.at(a),
                       y.at(b), html_escape(colour));
  }
  return out + "</g>\n";
}

}  // namespace

std::string line_chart(const Chart& given) {
  Chart chart = given;
  for (auto& line : chart.lines) {
    std::erase_if(line.points, [](const auto& point) {
      return !(std::abs(point.first) <= kLargestValue && std::abs(point.second) <= kLargestValue);
    });
  }
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double least_x = kNone, most_x = -kNone, least_y = kNone, most_y = -kNone;
  for (const auto& line : chart.lines) {
    for (const auto& [x, y] : line.points) {
      least_x = std::min(least_x, x), most_x = std::max(most_x, x);
      least_y = std::min(least_y, y), most_y = std::max(most_y, y);
    }
  }
  if (most_x < least_x) return "";
  const Axis x(std::min(0.0, least_x), most_x, kLeft, kWidth - kRight);
  const Axis y(least_y, most_y, kHeight - kBottom, kTop);
  std::string out =
      fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n",
                  kWidth, kHeight, html_escape(chart.title));
  for (const double tick : y.ticks()) {
    const double at = y.at(tick);
    out += fmt::format("<path class=\"grid\" d=\"M{} {:.1f}H{}\"/>\n", kLeft, at, kWidth - kRight);
    out += text(kLeft - 6, at + 4, "tick", "end", tick_text(tick));
  }
  for (const double tick : x.ticks()) {
    out += text(x.at(tick), kHeight - kBottom + 16, "tick", "middle", tick_text(tick));
  }
  out += fmt::format("<path class=\"axis\" d=\"M{} {}V{}H{}\"/>\n", kLeft, kTop, kHeight - kBottom,
                     kWidth - kRight);
  // What is at work lies above the rest.
  for (const bool open : {false, true}) {
    for (const auto& line : chart.lines) {
      if (line.open == open) out += line_svg(line, x, y);
    }
  }
  out += text((kLeft + kWidth - kRight) / 2, kHeight - 8, "word", "middle", chart.x);
  out += fmt::format(
      "<text class=\"word\" transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\">{}"
      "</text>\n",
      (kTop + kHeight - kBottom) / 2, html_escape(chart.y));
  return out + "</svg>\n";
}

}  // namespace approx
