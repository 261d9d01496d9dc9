// A table or figure of a paper that is made of trainings.
#pragma once

#include "results/papers/grid.h"
#include "results/records/contents.h"
#include "results/render/table.h"

namespace approx {

// `contents`: of the experiment at the scale that `grid` shows. One row for each (row, column,
// quantity); for people in the paper's layout.
Table paper_runs_table(const PaperGrid& grid, Contents contents, bool include_tainted);

}  // namespace approx
