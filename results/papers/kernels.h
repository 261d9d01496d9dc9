// A table or figure of a paper that kernel benchmarks answer.
#pragma once

#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"

namespace approx {

// The last stored benchmark of the item, shape by shape, each time of the paper beside ours.
// `layout` and `shown` as report_paper has them.
Table paper_kernels_table(const Snapshot& snapshot, const Experiment& layout,
                          const Experiment& shown);

// What plots/kernels.gp draws of the same benchmark; no rows where there is none.
Table paper_kernels_figure(const Snapshot& snapshot, const Experiment& layout,
                           const Experiment& shown);

}  // namespace approx
