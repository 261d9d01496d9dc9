// Learning curves.
#pragma once

#include "results/render/table.h"
#include "results/rows/rows.h"

namespace approx {

// Accuracy and loss over the epochs: one row for each (row of the store, metric, split, epoch),
// the mean over the seeds with its t-interval, and the least and the largest.
Table curves_table(const RowSet& set);

}  // namespace approx
