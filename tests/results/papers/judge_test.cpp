#include "results/papers/judge.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace approx {
namespace {

ReportedValue judged_value() {
  ReportedValue value;
  value.quantity = PaperQuantity::kAccuracy;
  value.unit = "%";
  value.tolerance = 0.5;
  return value;
}

Measured measured(double value, double half, int64_t n = 6) {
  return {.n = n, .value = value, .lo = value - half, .hi = value + half};
}

TEST(Judge, ComparesTheWholeIntervalWithTheTolerance) {
  const auto value = judged_value();
  const auto at = [&](double ours, double half) {
    return judge(value, 91.0, measured(ours, half), {}).verdict;
  };
  EXPECT_EQ(at(91.1, 0.3), Verdict::kReproduced);
  EXPECT_EQ(at(91.6, 0.05), Verdict::kDiffers);
  EXPECT_EQ(at(90.0, 0.4), Verdict::kDiffers);
  // An interval that crosses the border says neither.
  EXPECT_EQ(at(91.4, 0.3), Verdict::kNotComparable);
  EXPECT_EQ(at(91.0, 3.0), Verdict::kNotComparable);
}

TEST(Judge, SaysWhyItCannot) {
  auto value = judged_value();
  const auto good = measured(91.0, 0.1);
  const auto reason = [&](const Measured& ours, Scale scale, bool difference) {
    const auto judgement = judge(value, 91.0, ours, {.scale = scale, .is_difference = difference});
    EXPECT_EQ(judgement.verdict, Verdict::kNotComparable);
    return judgement.reason;
  };
  EXPECT_EQ(reason(good, Scale::kReduced, false),
            "reduced scale: only differences from dense are judged");
  EXPECT_EQ(judge(value, 91.0, good, {.scale = Scale::kReduced, .is_difference = true}).verdict,
            Verdict::kReproduced);
  EXPECT_NE(reason(good, Scale::kSmoke, true).find("smoke scale"), std::string::npos);
  auto lossy = good;
  lossy.lossy = true;
  EXPECT_EQ(reason(lossy, Scale::kFull, false),
            "lossy data: only differences from dense are judged");
  EXPECT_EQ(reason(measured(91.0, 0.1, 5), Scale::kFull, false), "n = 5: fewer than 6 seeds");
  // An accuracy is that of a network, a time that of a machine.
  value.hardware = "Titan Xp";
  EXPECT_EQ(judge(value, 91.0, good, {}).verdict, Verdict::kReproduced);
  value.quantity = PaperQuantity::kSpeedup;
  EXPECT_EQ(reason(good, Scale::kFull, false), "measured on other hardware: Titan Xp");
  value.hardware.clear();
  EXPECT_EQ(reason(measured(91.0, 0.1, 9), Scale::kFull, false), "n = 9: fewer than 10 processes");
  auto timed = measured(91.0, 0.1, 10);
  EXPECT_EQ(judge(value, 91.0, timed, {}).verdict, Verdict::kReproduced);
  timed.above_ceiling = true;
  EXPECT_EQ(reason(timed, Scale::kFull, false),
            "above its own ceiling, where no saving can bring it");
  auto idle = good;
  idle.unsound = "it approximated nothing";
  EXPECT_EQ(reason(idle, Scale::kFull, true), "it approximated nothing");
  value = judged_value();
  value.quantity = PaperQuantity::kTimeToTarget;
  auto missed = good;
  missed.missed = 2;
  EXPECT_EQ(reason(missed, Scale::kFull, true),
            fmt::format("2 of {} runs did not reach the target: the mean is of the others alone",
                        good.n + 2));
  value = judged_value();
  value.basis = Basis::kEstimated;
  EXPECT_NE(reason(good, Scale::kFull, false).find("estimate"), std::string::npos);

  EXPECT_EQ(judge(value, 91.0, {.why_none = "no run"}, {}).verdict, Verdict::kNotRun);
  EXPECT_EQ(judge(value, std::nullopt, good, {}).verdict, std::nullopt);
}

// Half of the channels gives half of the work: no run was needed for it.
TEST(Judge, ACountThatFollowsFromTheConfigurationReproducesNothing) {
  auto value = judged_value();
  value.quantity = PaperQuantity::kComputeReduction;
  value.basis = Basis::kCount;
  auto same = measured(50, 0);
  same.same_in_all = true;
  const auto at = [&](double paper, const Circumstances& around) {
    return judge(value, paper, same, around);
  };
  EXPECT_EQ(at(50, {}).verdict, Verdict::kByConstruction);
  EXPECT_EQ(at(50, {.scale = Scale::kReduced}).verdict, Verdict::kByConstruction);
  EXPECT_EQ(at(66, {}).verdict, Verdict::kDiffers) << "the configuration is not the paper's";
  const auto other = at(50, {.departs = "method=zero, not topk_crs"});
  EXPECT_EQ(other.verdict, Verdict::kNotComparable);
  EXPECT_EQ(other.reason, "method=zero, not topk_crs");
}

TEST(Judge, WhatRanksDoNotSendIsCounted) {
  auto value = judged_value();
  value.quantity = PaperQuantity::kCommunicationReduction;
  auto same = measured(50, 0);
  same.same_in_all = true;
  EXPECT_EQ(judge(value, 50, same, {}).verdict, Verdict::kByConstruction);
  EXPECT_EQ(judge(value, 66, same, {}).verdict, Verdict::kDiffers);
}

// What data decide is judged as every other number is, whatever its basis is called.
TEST(Judge, ACountThatDataDecideNeedsScaleDataAndSeeds) {
  auto value = judged_value();
  value.quantity = PaperQuantity::kDensity;
  value.basis = Basis::kCount;
  const auto good = measured(91.0, 0.1);
  const auto reason = [&](const Measured& ours, const Circumstances& around) {
    const auto judgement = judge(value, 91.0, ours, around);
    EXPECT_EQ(judgement.verdict, Verdict::kNotComparable);
    return judgement.reason;
  };
  EXPECT_EQ(judge(value, 91.0, good, {}).verdict, Verdict::kReproduced);
  EXPECT_EQ(reason(good, {.scale = Scale::kReduced}),
            "reduced scale: only differences from dense are judged");
  auto lossy = good;
  lossy.lossy = true;
  EXPECT_EQ(reason(lossy, {}), "lossy data: only differences from dense are judged");
  EXPECT_EQ(reason(measured(91.0, 0.1, 1), {}), "n = 1: fewer than 6 seeds");
}

}  // namespace
}  // namespace approx
