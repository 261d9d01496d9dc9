// Whether a number of a paper is what we measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/experiment/item.h"
#include "results/render/verdict.h"

namespace approx {

// What a verdict is made from.
struct Measured {
  int64_t n = 0;  // seeds, or processes of a timing
  double value = 0;
  std::optional<double> lo, hi;
  std::string why_none;        // where n is 0
  bool lossy = false;          // from data that went through a lossy step
  bool above_ceiling = false;  // a speedup beyond what its method can save
};

struct Judgement {
  std::optional<Verdict> verdict;  // none where there is nothing to judge
  std::string reason;
};

// Compares one number of a paper with ours. Absolute values are judged at full scale and on data as
// the paper had them, times on its hardware only; differences from dense at any scale but smoke,
// within `margin`. A number stands on at least six seeds, a timing on ten processes, or is not
// judged; a count on one run.
Judgement judge(const ReportedValue& value, const std::optional<double>& reported,
                const Measured& measured, Scale scale, bool is_difference, double margin);

// The verdict's word, "" without one.
std::string verdict_text(const Judgement& judgement);

}  // namespace approx
