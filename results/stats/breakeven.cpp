#include "results/stats/breakeven.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <utility>
#include <vector>

namespace approx {
namespace {

constexpr double kSameLength = 1e-6;  // relative
constexpr int kSteps = 256;           // of the search along the curve
constexpr int kHalvings = 60;
constexpr int kDrawn = 16;  // parts of a curve that is drawn

// A polynomial of degree two.
struct Quadratic {
  double constant = 0, slope = 0, bend = 0;

  double operator()(double u) const { return constant + u * (slope + u * bend); }
};

// Places on the axis of a curve: logarithms of lengths, from -1 of the shortest to 1 of the
// longest.
class Axis {
 public:
  Axis(double shortest, double longest)
      : middle_((std::log(shortest) + std::log(longest)) / 2),
        half_((std::log(longest) - std::log(shortest)) / 2) {}

  double place(double length) const { return (std::log(length) - middle_) / half_; }
  double length(double place) const { return std::exp(middle_ + half_ * place); }

 private:
  double middle_, half_;
};

struct Point {
  int64_t seed = 0;
  double u = 0, accuracy = 0;
};

constexpr size_t kTerms = 3;

// The sums of the normal equations of a fit, from which those of a seed can be taken out.
struct Sums {
  std::array<double, 2 * kTerms - 1> powers = {};  // of u
  std::array<double, kTerms> products = {};        // of its powers and the accuracy

  void add(const Point& point, double sign = 1) {
    double power = sign;
    for (size_t i = 0; i < powers.size(); ++i) {
      powers[i] += power;
      if (i < products.size()) products[i] += power * point.accuracy;
      power *= point.u;
    }
  }
};

// By Gauss's elimination with pivots; none where the points are of fewer than three places.
std::optional<Quadratic> solved(const Sums& sums) {
  std::array<std::array<double, kTerms + 1>, kTerms> rows{};
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t j = 0; j < kTerms; ++j) rows[i][j] = sums.powers[i + j];
    rows[i][kTerms] = sums.products[i];
  }
  for (size_t i = 0; i < kTerms; ++i) {
    const auto pivot = std::max_element(
        rows.begin() + static_cast<std::ptrdiff_t>(i), rows.end(),
        [i](const auto& a, const auto& b) { return std::fabs(a[i]) < std::fabs(b[i]); });
    std::swap(rows[i], *pivot);
    if (std::fabs(rows[i][i]) < 1e-9 * sums.powers[0]) return std::nullopt;
    for (size_t j = 0; j < kTerms; ++j) {
      if (j == i) continue;
      const double factor = rows[j][i] / rows[i][i];
      for (size_t k = i; k <= kTerms; ++k) rows[j][k] -= factor * rows[i][k];
    }
  }
  const auto term = [&](size_t i) { return rows[i][kTerms] / rows[i][i]; };
  return Quadratic{.constant = term(0), .slope = term(1), .bend = term(2)};
}

// The least-squares fit of a constant and a multiple of (u - flat)^2, whose slope at `flat` is 0.
Quadratic fit_flat_at(double flat, const std::vector<Point>& points) {
  double n = 0, sum_x = 0, sum_xx = 0, sum_y = 0, sum_xy = 0;
  for (const auto& point : points) {
    const double x = (point.u - flat) * (point.u - flat);
    n += 1, sum_x += x, sum_xx += x * x;
    sum_y += point.accuracy, sum_xy += x * point.accuracy;
  }
  const double factor = (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x);
  const double constant = (sum_y - factor * sum_x) / n;
  return {.constant = constant + factor * flat * flat, .slope = -2 * factor * flat, .bend = factor};
}

double squares(const Quadratic& fit, const std::vector<Point>& points) {
  double sum = 0;
  for (const auto& point : points) sum += std::pow(fit(point.u) - point.accuracy, 2);
  return sum;
}

// The least-squares fit among those that nowhere fall from -1 to 1. A slope that is linear in u is
// nowhere below 0 where it is not at either end; a fit that breaks that has its best neighbour
// where one end is flat, or both are.
Quadratic rising_fit(const Quadratic& free, const std::vector<Point>& points) {
  const auto rises = [](const Quadratic& fit) {
    const double bend = 2 * std::fabs(fit.bend);
    return fit.slope - bend >= -1e-12 * (std::fabs(fit.slope) + bend);
  };
  if (rises(free)) return free;
  double mean = 0;
  for (const auto& point : points) mean += point.accuracy / static_cast<double>(points.size());
  Quadratic best{.constant = mean};
  double least = squares(best, points);
  for (const double flat : {-1.0, 1.0}) {
    const Quadratic fit = fit_flat_at(flat, points);
    const double sum = squares(fit, points);
    if (rises(fit) && sum < least) best = fit, least = sum;
  }
  return best;
}

struct Fit {
  Axis axis;
  std::vector<Point> points;
  Quadratic free, rising;  // rising: nowhere falls
};

// None where the trainings are of fewer than three lengths.
std::optional<Fit> fit_of(std::span<const ExactTraining> exact, double shortest, double longest) {
  const Axis axis(shortest, longest);
  std::vector<Point> points;
  Sums sums;
  for (const auto& training : exact) {
    points.push_back({training.seed, axis.place(training.length), training.accuracy});
    sums.add(points.back());
  }
  const auto free = solved(sums);
  if (!free) return std::nullopt;
  const Quadratic rising = rising_fit(*free, points);
  return Fit{axis, std::move(points), *free, rising};
}

double mean_accuracy(std::span<const MethodTraining> method) {
  double sum = 0;
  for (const auto& training : method) sum += training.accuracy;
  return sum / static_cast<double>(method.size());
}

template <typename Trainings>
std::set<int64_t> seeds_of(const Trainings& trainings) {
  std::set<int64_t> seeds;
  for (const auto& training : trainings) seeds.insert(training.seed);
  return seeds;
}

// The number of seeds at the length that has the fewest. `points`: of trainings of equal lengths,
// but for their rounding, the places are equal.
size_t fewest_seeds(const std::vector<Point>& points) {
  std::map<int64_t, std::set<int64_t>> by_place;
  for (const auto& point : points) {
    by_place[std::llround(point.u / kSameLength)].insert(point.seed);
  }
  size_t fewest = points.size();
  for (const auto& [place, seeds] : by_place) fewest = std::min(fewest, seeds.size());
  return fewest;
}

// The border between a place where `holds` and one where it does not.
template <typename Holds>
double border(double within, double outside, const Holds& holds) {
  for (int i = 0; i < kHalvings; ++i) {
    const double middle = (within + outside) / 2;
    (holds(middle) ? within : outside) = middle;
  }
  return within;
}

// Exact training minus the method along the curve, with its error over seeds.
class Difference {
 public:
  // `fit`: of all points.
  Difference(const Quadratic& fit, const std::vector<Point>& points,
             std::span<const MethodTraining> method, double confidence)
      : whole_(less(fit, mean_accuracy(method))) {
    const auto exact_seeds = seeds_of(points), method_seeds = seeds_of(method);
    seeds_ = std::min(exact_seeds.size(), method_seeds.size());
    if (seeds_ < 2) return;
    Sums all;
    for (const auto& point : points) all.add(point);
    std::set<int64_t> seeds = exact_seeds;
    seeds.insert(method_seeds.begin(), method_seeds.end());
    for (const int64_t seed : seeds) {
      Sums rest = all;
      for (const auto& point : points) {
        if (point.seed == seed) rest.add(point, -1);
      }
      std::vector<MethodTraining> others;
      for (const auto& training : method) {
        if (training.seed != seed) others.push_back(training);
      }
      const auto without = solved(rest);
      if (!without) {
        groups_.fill({});
        return;
      }
      const bool of_exact = exact_seeds.contains(seed), of_method = method_seeds.contains(seed);
      Group& group = groups_[of_exact && of_method ? 0 : of_exact ? 1 : 2];
      group.seeds = of_exact && of_method ? seeds_
                    : of_exact            ? exact_seeds.size()
                                          : method_seeds.size();
      group.without.push_back(less(*without, mean_accuracy(others)));
    }
    confidence_ = confidence;
    double fewest = std::numeric_limits<double>::infinity(), all_degrees = 0;
    for (const auto& group : groups_) {
      if (group.without.empty()) continue;
      fewest = std::min(fewest, group.degrees());
      all_degrees += group.degrees();
    }
    most_reach_ = t_quantile(fewest, confidence);
    least_reach_ = t_quantile(all_degrees, confidence);
  }

  // How many seeds the side with fewer has.
  int64_t seeds() const { return static_cast<int64_t>(seeds_); }

  bool has_error() const {
    return std::ranges::any_of(groups_, [](const Group& group) { return !group.without.empty(); });
  }
  double operator()(double u) const { return whole_(u); }

  // Whether the two may be equal there.
  bool may_be_none(double u) const {
    double variance = 0, over_degrees = 0;
    for (const auto& group : groups_) {
      if (group.without.empty()) continue;
      double sum = 0;
      for (const auto& fit : group.without) sum += std::pow(fit(u) - whole_(u), 2);
      const auto n = static_cast<double>(group.seeds);
      const double part = (n - 1) / n * sum;
      variance += part;
      over_degrees += part * part / group.degrees();
    }
    const double distance = std::fabs(whole_(u)), error = std::sqrt(variance);
    // The quantile takes time, and seldom decides.
    if (distance <= least_reach_ * error) return true;
    if (distance > most_reach_ * error || over_degrees == 0) return false;
    return distance <= t_quantile(variance * variance / over_degrees, confidence_) * error;
  }

 private:
  struct Group {
    size_t seeds = 0;                // of the side of exact training or of the method
    std::vector<Quadratic> without;  // one of its seeds each

    double degrees() const { return std::max(1.0, static_cast<double>(without.size()) - 1); }
  };

  static Quadratic less(Quadratic fit, double accuracy) {
    fit.constant -= accuracy;
    return fit;
  }

  size_t seeds_ = 0;
  Quadratic whole_;
  // Seeds of both sides, of exact training alone, of the method alone.
  std::array<Group, 3> groups_;
  double confidence_ = kConfidence;
  double least_reach_ = 0, most_reach_ = 0;  // of the t-test, whatever its degrees of freedom
};

// Sets the ends of the interval, in lengths.
void set_interval(const Difference& difference, const Axis& axis, EquivalentLength& result) {
  const auto place = [](int step) { return -1 + 2.0 * step / kSteps; };
  const auto holds = [&](double u) { return difference.may_be_none(u); };
  int first = -1, last = -1;
  for (int step = 0; step <= kSteps; ++step) {
    if (!holds(place(step))) continue;
    if (first < 0) first = step;
    last = step;
  }
  if (first < 0) {
    // Surely beyond one end, or so narrow that it lies between two steps.
    if (difference(-1) > 0 && difference(1) > 0) result.hi = result.shortest;
    if (difference(-1) < 0 && difference(1) < 0) result.lo = result.longest;
    if (result.length && !result.lo && !result.hi) result.lo = result.hi = result.length;
    return;
  }
  if (first > 0) result.lo = axis.length(border(place(first), place(first - 1), holds));
  if (last < kSteps) result.hi = axis.length(border(place(last), place(last + 1), holds));
  // A fit that may not fall has the method's accuracy elsewhere than one that may.
  if (result.length && result.lo) result.lo = std::min(*result.lo, *result.length);
  if (result.length && result.hi) result.hi = std::max(*result.hi, *result.length);
  if (result.place == CurvePlace::kBelowAll) result.lo.reset();
  if (result.place == CurvePlace::kAboveAll) result.hi.reset();
}

}  // namespace

int64_t count_lengths(std::span<const ExactTraining> exact) {
  std::vector<double> lengths;
  for (const auto& training : exact) lengths.push_back(training.length);
  std::sort(lengths.begin(), lengths.end());
  int64_t count = 0;
  double last = 0;
  for (const double length : lengths) {
    if (count > 0 && length <= last * (1 + kSameLength)) continue;
    ++count;
    last = length;
  }
  return count;
}

EquivalentLength equivalent_length(std::span<const ExactTraining> exact,
                                   std::span<const MethodTraining> method, double confidence) {
  EquivalentLength result{.n = static_cast<int64_t>(method.size()),
                          .runs = static_cast<int64_t>(exact.size()),
                          .lengths = count_lengths(exact)};
  for (const auto& training : exact) {
    require(
        std::isfinite(training.length) && training.length > 0 && std::isfinite(training.accuracy),
        "an exact training without a length or an accuracy");
    const bool first = result.longest == 0;
    result.shortest = first ? training.length : std::min(result.shortest, training.length);
    result.longest = std::max(result.longest, training.length);
  }
  for (const auto& training : method) {
    require(std::isfinite(training.accuracy), "a training whose accuracy is not finite");
  }
  if (method.empty() || result.lengths < kLengthsForACurve) return result;

  const auto found = fit_of(exact, result.shortest, result.longest);
  if (!found) return result;
  const auto& [axis, points, free, rising] = *found;
  const double accuracy = mean_accuracy(method);
  if (accuracy < rising(-1)) {
    result.place = CurvePlace::kBelowAll;
  } else if (accuracy > rising(1)) {
    result.place = CurvePlace::kAboveAll;
  } else {
    result.place = CurvePlace::kWithin;
    result.length = axis.length(border(-1, 1, [&](double u) { return rising(u) <= accuracy; }));
  }
  const Difference difference(free, points, method, confidence);
  result.seeds = difference.seeds();
  result.fewest_seeds = std::min(result.seeds, static_cast<int64_t>(fewest_seeds(points)));
  if (difference.has_error()) set_interval(difference, axis, result);
  return result;
}

std::vector<CurveAt> fitted_curve(std::span<const ExactTraining> exact) {
  if (count_lengths(exact) < kLengthsForACurve) return {};
  const auto [shortest, longest] = std::ranges::minmax(exact, {}, &ExactTraining::length);
  const auto found = fit_of(exact, shortest.length, longest.length);
  if (!found) return {};
  std::vector<CurveAt> curve;
  for (int step = 0; step <= kDrawn; ++step) {
    const double u = -1 + 2.0 * step / kDrawn;
    curve.push_back({found->axis.length(u), found->rising(u)});
  }
  return curve;
}

Bounded breakeven_speedup(double length, const EquivalentLength& equivalent) {
  const auto over = [length](const std::optional<double>& exact) {
    return exact ? std::optional(length / *exact) : std::nullopt;
  };
  return {.value = over(equivalent.length), .lo = over(equivalent.hi), .hi = over(equivalent.lo)};
}

Bounded percent_above(const Ratio& speedup, const Bounded& breakeven) {
  if (speedup.n == 0) return {};
  const auto percent = [](double log) { return 100 * std::expm1(log); };
  const auto log_of = [](double a, double b) { return std::log(a / b); };
  Bounded gap;
  if (!breakeven.value) {
    if (speedup.lo && breakeven.hi) gap.lo = percent(log_of(*speedup.lo, *breakeven.hi));
    if (speedup.hi && breakeven.lo) gap.hi = percent(log_of(*speedup.hi, *breakeven.lo));
    return gap;
  }
  const double middle = log_of(speedup.ratio, *breakeven.value);
  gap.value = percent(middle);
  if (speedup.lo && breakeven.hi) {
    gap.lo = percent(middle - std::hypot(log_of(speedup.ratio, *speedup.lo),
                                         log_of(*breakeven.hi, *breakeven.value)));
  }
  if (speedup.hi && breakeven.lo) {
    gap.hi = percent(middle + std::hypot(log_of(*speedup.hi, speedup.ratio),
                                         log_of(*breakeven.value, *breakeven.lo)));
  }
  return gap;
}

}  // namespace approx
