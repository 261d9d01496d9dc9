// A target that is derived from exact trainings: the median of their best accuracies less a margin.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "results/records/targets.h"
#include "results/rows/options.h"
#include "results/rows/rows.h"
#include "results/store/run_store.h"

namespace approx {

// Fewer exact trainings leave a footnote: the median of so few moves from seed to seed.
inline constexpr int64_t kDenseRunsForATarget = 10;

struct DerivedTarget {
  struct Best {
    CellRun of;
    double accuracy = 0;  // a share, at the best judged() evaluation
  };
  const Row* dense = nullptr;
  std::vector<Best> bests;
  double median = 0, share = 0;  // shares
  double margin_pp = 0;          // percentage points

  int64_t runs() const { return static_cast<int64_t>(bests.size()); }
};

// The target by the accuracy runs of `dense` that finished; none without such a run.
std::optional<DerivedTarget> derive_target(const Row& dense, const Margin& margin);

// The targets of all exact trainings of a set with which a method is compared, in their order.
std::vector<DerivedTarget> derive_targets(const RowSet& set, const Margin& margin);

// The record under which a store keeps derived targets with their provenance, one row a run.
// `experiment` is the name that was asked for, "" for a whole store.
StudyRecord target_record(const std::vector<DerivedTarget>& targets, const Margin& margin,
                          const std::string& experiment);

// The stored target of a row, found by the runs of its exact training; null without any. The last
// of several counts: one of the asked experiment before others, a newer one before an older one.
const StoredTarget* stored_target(const Row& row, const std::vector<StoredTarget>& targets);

}  // namespace approx
