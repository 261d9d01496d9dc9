#include "core/config/rate_points.h"

#include <algorithm>

#include "base/error.h"
#include "base/numbers.h"
#include "base/text.h"

namespace approx {
namespace {

constexpr const char* kExpected = "expected pairs SHARE:FACTOR such as \"0:0.2,0.23:1,1:0.07\"";

RatePoint parse_point(std::string_view pair, std::string_view whole) {
  const auto parts = split(pair, ":");
  if (parts.size() == 2) {
    const auto share = parse_real(trim(parts[0])), factor = parse_real(trim(parts[1]));
    if (share && factor) return {*share + 0.0, *factor + 0.0};  // -0 and 0 are one value
  }
  throw usage_error("rate_points: {} in {}: {}", quote(trim(pair)), quote(whole), kExpected);
}

// "1" and not "1.0".
std::string short_text(double value) {
  auto text = shortest(value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text;
}

}  // namespace

std::vector<RatePoint> parse_rate_points(std::string_view text) {
  std::vector<RatePoint> points;
  if (trim(text).empty()) return points;
  for (const auto pair : split(text, ",")) points.push_back(parse_point(pair, text));
  return points;
}

std::string to_text(const std::vector<RatePoint>& points) {
  std::string text;
  for (const auto& [share, factor] : points) {
    if (!text.empty()) text += ',';
    text += short_text(share) + ':' + short_text(factor);
  }
  return text;
}

void check(const std::vector<RatePoint>& points) {
  const auto refuse = [&](const char* why) {
    return usage_error("rate_points = {}: {}", quote(to_text(points)), why);
  };
  if (points.empty()) throw refuse(kExpected);
  if (points.front().share != 0 || points.back().share != 1) {
    throw refuse("the first share must be 0 and the last 1");
  }
  for (size_t i = 0; i < points.size(); ++i) {
    if (i > 0 && points[i].share <= points[i - 1].share) throw refuse("shares must rise");
    if (points[i].factor < 0) throw refuse("factors must be 0 or more");
  }
}

double factor_at(const std::vector<RatePoint>& points, double share) {
  const auto after = std::ranges::upper_bound(points, share, {}, &RatePoint::share);
  if (after == points.end()) return points.back().factor;
  const auto before = after - 1;
  const double way = (share - before->share) / (after->share - before->share);
  return before->factor * (1 - way) + after->factor * way;
}

}  // namespace approx
