// Measured speedups and densities of an experiment's rows, from which a sweep plans its controls.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"

namespace approx {

// Measured results of an experiment's rows, by the labels of the rows.
struct StoredRows {
  // The lower end of the 95 % interval of the speedup, for rows timed in kProcessesForATiming or
  // more processes.
  std::map<LabelKey, double> speedups;
  // The number of processes of rows that were timed in fewer.
  std::map<LabelKey, int64_t> timed_in_few;
  // The density of the gradients that the row's method pruned. Where it pruned none, the share of
  // the pairs of its products that it took.
  std::map<LabelKey, double> densities;
  std::map<LabelKey, int64_t> steps_per_epoch;
  std::set<LabelKey> disturbed;  // rows whose timings do not count
};

// Reads the results. Empty where the store has no such experiment. Throws Error(kDatabase).
StoredRows stored_rows(const Snapshot& snapshot, const std::string& experiment);

}  // namespace approx
