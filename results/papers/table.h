// A table or figure of a paper in the paper's layout, each number that it prints beside ours.
#pragma once

#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// `layout`: the item at full scale, which names its rows and columns and holds the paper's numbers;
// `shown`: the same at the scale to show, both loaded with the checksums of the store, by which its
// runs are found. The catalogue of `options` recognizes runs on any number of threads where the
// item leaves them to the machine. One row for each (row, column, quantity); for people a table in
// the paper's layout. Throws Error(kDatabase) for numbers that nothing measures.
Table report_paper(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                   const ReportOptions& options = {});

// --- the kinds of items that are measured, of which report_paper takes one ---

// The table of trainings: one row for each (row, column, quantity); for people in the paper's
// layout.
Table paper_runs_table(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                       const ReportOptions& options);

// The table of kernel benchmarks: the last stored one of the item, shape by shape, each time of the
// paper beside ours.
Table paper_kernels_table(const Snapshot& snapshot, const Experiment& layout,
                          const Experiment& shown);

// The table of a study: the last stored one, as it is, and what the paper prints as notes.
Table paper_study_table(const Snapshot& snapshot, const Experiment& layout,
                        const Experiment& shown);

// What plots/kernels.gp draws of an item of kernel benchmarks; no rows where there is none.
Table paper_kernels_figure(const Snapshot& snapshot, const Experiment& layout,
                           const Experiment& shown);

}  // namespace approx
