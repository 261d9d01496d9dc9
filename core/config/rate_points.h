// The corner points of a learning-rate schedule, as in rate_points: "0:0.2,0.23:1,1:0.07".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace approx {

// One corner: after `share` of all steps the rate is `factor` times the recipe's learning_rate.
struct RatePoint {
  double share = 0, factor = 0;
  bool operator==(const RatePoint&) const = default;
};

// Reads pairs SHARE:FACTOR separated by commas. Blanks around parts are ignored; "" gives no
// points. Throws Error(kUsage) for any other text.
std::vector<RatePoint> parse_rate_points(std::string_view text);

// The text that parse_rate_points() reads as these points: "0:0.2,0.23:1,1:0.07".
std::string to_text(const std::vector<RatePoint>& points);

// Throws Error(kUsage) unless there are points, the shares rise from 0 to 1 and no factor is
// negative.
void check(const std::vector<RatePoint>& points);

// The factor after a share of the steps, 0 to 1, linear between the points. check() must have
// accepted the points.
double factor_at(const std::vector<RatePoint>& points, double share);

}  // namespace approx
