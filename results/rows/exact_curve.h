// The exact trainings of several lengths that stand beside a row, and what they say of it.
#pragma once

#include <vector>

#include "results/rows/rows.h"
#include "results/stats/breakeven.h"

namespace approx {

// Exact trainings whose recipe is that of a row's exact training, but for the length and what is
// scaled along with it (shortened_like in core/experiment/iso_time.h).
struct ExactCurve {
  double epochs = 0;                   // that the row was trained
  std::vector<ExactTraining> exact;    // lengths in epochs, accuracies in percent
  std::vector<MethodTraining> method;  // the row's trainings
  Notes notes = {};                    // of the exact trainings and of both sides together
};

// The curve of trainings of half to twice the row's own length, made on the row's data. Under a
// constant learning rate every evaluation of the row's exact trainings is one of that length, else
// their last evaluations count and those of every other row of exact training. Empty without an
// exact training beside the row.
ExactCurve exact_curve(const RowSet& set, const Row& row);

// The speedup of a row on one of the machines that timed it.
struct MachineSpeedup {
  int64_t host_id = 0;
  std::string machine, cpu;
  Ratio speedup;          // over processes
  int64_t occasions = 0;  // of timing (timing_occasions in results/rows/rows.h)
};

// In the order of the row's timings.
std::vector<MachineSpeedup> speedups_by_machine(const Row& row);

}  // namespace approx
