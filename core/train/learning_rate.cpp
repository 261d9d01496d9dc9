#include "core/train/learning_rate.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "base/error.h"

namespace approx {
namespace {

double half_cosine(double from, double to, double share) {
  return to + (from - to) * (1 + std::cos(std::numbers::pi * share)) / 2;
}

double scheduled(const Recipe& recipe, int64_t step, int64_t steps_per_epoch) {
  const double peak = recipe.learning_rate;
  const int64_t epoch = step / steps_per_epoch;
  const auto at = static_cast<double>(step);
  const auto total = static_cast<double>(total_steps(recipe, steps_per_epoch));
  switch (recipe.lr_schedule) {
    case RateSchedule::kConstant:
      return peak;
    case RateSchedule::kExponential:
      return peak * std::pow(recipe.decay, static_cast<double>(epoch));
    case RateSchedule::kStep: {
      const int64_t decays = epoch / recipe.decay_epochs;
      return peak * std::pow(recipe.decay, static_cast<double>(decays));
    }
    case RateSchedule::kMilestones: {
      const auto& milestones = recipe.milestones;
      const auto passed = std::upper_bound(milestones.begin(), milestones.end(), epoch);
      return peak * std::pow(recipe.decay, static_cast<double>(passed - milestones.begin()));
    }
    case RateSchedule::kCosine:
      return half_cosine(peak, 0, at / total);
    case RateSchedule::kOneCycle: {
      const double rise = recipe.warmup * total;
      if (at < rise) return peak / 25 + (peak - peak / 25) * at / rise;
      return half_cosine(peak, peak / 1e4, (at - rise) / std::max(1.0, total - rise));
    }
    case RateSchedule::kTriangular: {
      const auto rise = static_cast<double>(recipe.peak_epoch * steps_per_epoch);
      return at < rise ? peak * at / rise : peak * (total - at) / (total - rise);
    }
    case RateSchedule::kPoints:
      return peak * factor_at(recipe.rate_points, at / total);
  }
  throw Error(ErrorKind::kInternal, "a learning-rate schedule without a formula");
}

}  // namespace

double learning_rate(const Recipe& recipe, int64_t step, int64_t steps_per_epoch) {
  step = std::min(step, total_steps(recipe, steps_per_epoch) - 1);
  const double rate = scheduled(recipe, step, steps_per_epoch);
  const int64_t warmup = recipe.warmup_epochs * steps_per_epoch;
  if (step + 1 >= warmup) return rate;
  return rate * static_cast<double>(step + 1) / static_cast<double>(warmup);
}

}  // namespace approx
