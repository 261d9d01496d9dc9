// Exact trainings of several lengths beside a row, and the speedups of the row by machine.
#pragma once

#include <vector>

#include "results/rows/rows.h"
#include "results/stats/breakeven.h"

namespace approx {

// Exact trainings beside a row. Their recipe differs from that of the row's exact training only in
// its length and in what scales with it (shortened_like in core/experiment/iso_time.h).
struct ExactCurve {
  double epochs = 0;                   // the length of the row's own training
  std::vector<ExactTraining> exact;    // lengths in epochs, accuracies in percent
  std::vector<MethodTraining> method;  // the row's trainings
  Notes notes = {};                    // of the exact trainings and of both sides together
};

// Collects exact trainings of half to twice the row's own length, on the row's data. Under a
// constant learning rate, every evaluation of the row's exact trainings counts as a training of
// that length. Otherwise only last evaluations count, and exact trainings from other rows are
// added. Empty without an exact training beside the row.
ExactCurve exact_curve(const RowSet& set, const Row& row);

// The speedup of a row on one of the machines that timed it.
struct MachineSpeedup {
  int64_t host_id = 0;
  std::string machine, cpu;
  Ratio speedup;          // over processes
  int64_t occasions = 0;  // of timing (timing_occasions in results/rows/rows.h)
};

// The speedups of a row, one per machine, in the order of the row's timings.
std::vector<MachineSpeedup> speedups_by_machine(const Row& row);

}  // namespace approx
