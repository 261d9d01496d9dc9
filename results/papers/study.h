// A table or figure of a paper that a study computes.
#pragma once

#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"

namespace approx {

// The last stored table of the item's study, as it is, and what the paper prints as notes.
// `layout` and `shown` as report_paper has them.
Table paper_study_table(const Snapshot& snapshot, const Experiment& layout,
                        const Experiment& shown);

}  // namespace approx
