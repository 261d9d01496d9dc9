// A table or figure of a paper in the paper's layout, each number that it prints beside ours.
#pragma once

#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// Makes the table of a paper's item. `layout`: the item at full scale, which names its rows and
// columns and holds the paper's numbers. `shown`: the item at the scale to show. Both are loaded
// with the checksums of the store, by which their runs are found. Where an item leaves the threads
// to the machine, the catalogue of `options` recognises runs on any number. One row for each (row,
// column, quantity); for people a table in the paper's layout. Throws Error(kDatabase) for numbers
// that no measurement can give.
Table report_paper(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                   const ReportOptions& options = {});

// --- one function for each kind of measured item; report_paper calls one of them ---

// The table of trainings: one row for each (row, column, quantity); for people in the paper's
// layout.
Table paper_runs_table(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                       const ReportOptions& options);

// The table of the item's last stored kernel benchmark, shape by shape, with each time of the paper
// beside ours.
Table paper_kernels_table(const Snapshot& snapshot, const Experiment& layout,
                          const Experiment& shown);

// The last stored table of a study, unchanged, with the paper's numbers as notes.
Table paper_study_table(const Snapshot& snapshot, const Experiment& layout,
                        const Experiment& shown);

// The table that plots/kernels.gp draws for an item of kernel benchmarks; no rows where there are
// none.
Table paper_kernels_figure(const Snapshot& snapshot, const Experiment& layout,
                           const Experiment& shown);

}  // namespace approx
