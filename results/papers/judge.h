// Whether our measured number agrees with a number of a paper.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/experiment/item.h"
#include "results/render/verdict.h"

namespace approx {

// --- the kinds of quantities that papers have (core/experiment/item.h lists them) ---

// Whether timing runs measure the quantity: steps of a method against exact ones.
inline bool is_speed(PaperQuantity quantity) {
  return quantity == PaperQuantity::kSpeedup || quantity == PaperQuantity::kTimeSaved ||
         quantity == PaperQuantity::kRealisation;
}

inline bool is_timing(PaperQuantity quantity) {
  return is_speed(quantity) || quantity == PaperQuantity::kTime ||
         quantity == PaperQuantity::kTimeToTarget;
}

// Whether the sample of a number is processes, each of which timed both sides. The sample of an
// estimate is seeds.
inline bool is_of_processes(const ReportedValue& value) {
  return is_speed(value.quantity) && value.basis != Basis::kEstimated;
}

// --- the verdict ---

// Our measured number, from which the verdict is made.
struct Measured {
  int64_t n = 0;  // seeds, or processes of a timing
  double value = 0;
  std::optional<double> lo, hi;
  std::string why_none;  // the reason if n is 0
  bool lossy = false;    // from data that went through a lossy step
  // Why it does not belong to the method, or is not a single number; "" otherwise.
  std::string unsound;
  bool above_ceiling = false;    // a speedup beyond what its method can save
  bool estimated = false;        // computed from measured times, not measured
  int64_t missed = 0;            // for a time to a target: further runs, which did not reach it
  bool same_in_all = false;      // for a count: equal to the last unit in all runs, two or more
  std::optional<double> p;       // for a loss: p-value of no loss, by the sign-flip test
  std::optional<double> p_holm;  // `p`, adjusted over the losses of the table
};

// The conditions under which both numbers were made.
struct Circumstances {
  Scale scale = Scale::kFull;
  bool is_difference = false;  // a difference from dense
  double margin = 1;           // in points; differences from dense within it are called equal
  // How our number was made in another way than the paper's; "" if it was not. For a difference
  // this is about the trainings (results/papers/comparable.h), for a count about the methods.
  std::string departs;
};

struct Judgement {
  std::optional<Verdict> verdict;  // none where there is nothing to judge
  std::string reason;
};

// Compares one number of a paper with ours. Absolute values are judged at full scale and on the
// paper's data; times also only on its hardware. A difference from dense is judged within the
// margin, if both trainings agree with the paper's in every setting that decides it. A number is
// judged only from six seeds on, a timing from ten processes on. A count that is equal in every run
// follows from the configuration. If it equals the paper's, then the configuration does too, but
// nothing is reproduced.
Judgement judge(const ReportedValue& value, const std::optional<double>& reported,
                const Measured& measured, const Circumstances& around);

// The word of the verdict; "" without one.
std::string verdict_text(const Judgement& judgement);

}  // namespace approx
