// Speedup against loss.
#pragma once

#include "results/render/table.h"
#include "results/rows/rows.h"

namespace approx {

// Speedup against loss: one row for each row of the store that has both, and whether it is on the
// front of its network, data set and settings (results/stats/pareto.h).
Table pareto_table(const RowSet& set);

}  // namespace approx
