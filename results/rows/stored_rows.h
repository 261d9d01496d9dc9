// What a sweep takes from the rows of an experiment that were measured: what its controls go by.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"

namespace approx {

// What the runs of an experiment's rows have shown, by the labels of the rows.
struct StoredRows {
  // The lower end of the 95 % interval of the speedup, of rows that were timed in
  // kProcessesForATiming processes or more.
  std::map<LabelKey, double> speedups;
  // The number of processes of rows that were timed in fewer.
  std::map<LabelKey, int64_t> timed_in_few;
  // What the row's method kept of what it approximated, a share: of the entries of the gradients
  // that it pruned; where it pruned none, of the pairs of its products.
  std::map<LabelKey, double> densities;
  std::map<LabelKey, int64_t> steps_per_epoch;
  std::set<LabelKey> disturbed;  // those whose timings do not count
};

// Empty where the store has no such experiment. Throws Error(kDatabase).
StoredRows stored_rows(const Snapshot& snapshot, const std::string& experiment);

}  // namespace approx
