#include "results/papers/judge.h"

#include "base/error.h"
#include "base/numbers.h"
#include "results/stats/stats.h"

namespace approx {
namespace {

bool is_count(const ReportedValue& value) {
  return value.basis == Basis::kCount || value.quantity == PaperQuantity::kComputeReduction ||
         value.quantity == PaperQuantity::kCommunicationReduction;
}

bool is_by_construction(const ReportedValue& value, const Measured& measured) {
  return is_count(value) && measured.same_in_all;
}

// Why the two numbers cannot be compared, "" where they can.
std::string obstacle(const ReportedValue& value, const Measured& measured,
                     const Circumstances& around, double tolerance) {
  if (around.scale == Scale::kSmoke) return "smoke scale: it only shows that the item runs";
  if (!value.hardware.empty() && is_timing(value.quantity)) {
    return "measured on other hardware: " + value.hardware;
  }
  if (value.basis == Basis::kEstimated) {
    return measured.estimated ? "both are estimates, each from the times of its own machine"
                              : "the paper's number is an estimate, ours is measured";
  }
  const bool by_construction = is_by_construction(value, measured);
  if ((around.is_difference || by_construction) && !around.departs.empty()) {
    return around.departs;
  }
  if (by_construction) return "";
  if (!around.is_difference) {
    if (around.scale != Scale::kFull)
      return "reduced scale: only differences from dense are judged";
    if (measured.lossy) return "lossy data: only differences from dense are judged";
  }
  if (!measured.unsound.empty()) return measured.unsound;
  if (measured.missed > 0) {
    return fmt::format("{} of {} runs did not reach the target: the mean is of the others alone",
                       measured.missed, measured.n + measured.missed);
  }
  if (measured.above_ceiling) return "above its own ceiling, where no saving can bring it";
  const bool timed = is_speed(value.quantity);
  const int64_t least = timed ? kProcessesForAVerdict : kSeedsForAVerdict;
  if (measured.n < least || !measured.lo || !measured.hi) {
    return fmt::format("n = {}: fewer than {} {}", measured.n, least,
                       timed ? "processes" : "seeds");
  }
  return tolerance > 0 ? "" : "no tolerance is declared for it";
}

}  // namespace

Judgement judge(const ReportedValue& value, const std::optional<double>& reported,
                const Measured& measured, const Circumstances& around) {
  if (measured.n == 0) return {Verdict::kNotRun, measured.why_none};
  if (!reported) return {};
  const double fallback = around.is_difference ? around.margin : is_count(value) ? 1.0 : 0.0;
  const double tolerance = value.tolerance.value_or(fallback);
  const std::string why_not = obstacle(value, measured, around, tolerance);
  if (!why_not.empty()) return {Verdict::kNotComparable, why_not};
  const double lo = measured.lo.value_or(measured.value), hi = measured.hi.value_or(measured.value);
  const std::string within = fmt::format("{} {} around the paper's number", shortest(tolerance),
                                         value.unit.empty() ? "units" : value.unit);
  switch (agreement(lo, hi, *reported, tolerance)) {
    case Agreement::kAgrees:
      if (is_by_construction(value, measured)) {
        return {Verdict::kByConstruction, "the same in every run, within " + within};
      }
      return {Verdict::kReproduced, "within " + within};
    case Agreement::kDiffers:
      return {Verdict::kDiffers, "outside " + within};
    case Agreement::kUnresolved:
      return {Verdict::kNotComparable, "the interval is too wide to tell: it crosses " + within};
  }
  return {};
}

std::string verdict_text(const Judgement& judgement) {
  return judgement.verdict ? std::string(name(*judgement.verdict)) : std::string();
}

}  // namespace approx
