// Whether a number of a paper is what we measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/experiment/item.h"
#include "results/render/verdict.h"

namespace approx {

// --- what kind of thing the quantities of papers are (core/experiment/item.h lists them) ---

// What timing runs measure: steps of a method against exact ones.
inline bool is_speed(PaperQuantity quantity) {
  return quantity == PaperQuantity::kSpeedup || quantity == PaperQuantity::kTimeSaved ||
         quantity == PaperQuantity::kRealisation;
}

inline bool is_timing(PaperQuantity quantity) {
  return is_speed(quantity) || quantity == PaperQuantity::kTime ||
         quantity == PaperQuantity::kTimeToTarget;
}

// A number that stands on processes, each of which timed both sides. An estimate stands on seeds.
inline bool is_of_processes(const ReportedValue& value) {
  return is_speed(value.quantity) && value.basis != Basis::kEstimated;
}

// --- the verdict ---

// What a verdict is made from.
struct Measured {
  int64_t n = 0;  // seeds, or processes of a timing
  double value = 0;
  std::optional<double> lo, hi;
  std::string why_none;          // where n is 0
  bool lossy = false;            // from data that went through a lossy step
  std::string unsound;           // why it is none of the method's, or no one number; "" else
  bool above_ceiling = false;    // a speedup beyond what its method can save
  bool estimated = false;        // computed from measured times, not measured
  int64_t missed = 0;            // of a time to a target: runs beside n that did not reach it
  bool same_in_all = false;      // of a count: equal to the last unit in all runs, two or more
  std::optional<double> p;       // of a loss: that it is none, by the sign-flip test
  std::optional<double> p_holm;  // the same, adjusted over the losses of the table
};

// What the two numbers stand in beside their values.
struct Circumstances {
  Scale scale = Scale::kFull;
  bool is_difference = false;  // from dense
  double margin = 1;           // points: differences from dense within it are called equal
  // How ours was made in another way than the paper's, "" where it was not: for a difference the
  // trainings (results/papers/comparable.h), for a count the methods.
  std::string departs;
};

struct Judgement {
  std::optional<Verdict> verdict;  // none where there is nothing to judge
  std::string reason;
};

// Compares one number of a paper with ours. Absolute values are judged at full scale and on data as
// the paper had them, times on its hardware only; differences from dense where both trainings are
// the paper's in all that decides one, within the margin. A number stands on at least six seeds, a
// timing on ten processes, or is not judged. A count that is the same in every run follows from the
// configuration: that it is the paper's shows that the configuration is, and reproduces nothing.
Judgement judge(const ReportedValue& value, const std::optional<double>& reported,
                const Measured& measured, const Circumstances& around);

// The verdict's word, "" without one.
std::string verdict_text(const Judgement& judgement);

}  // namespace approx
