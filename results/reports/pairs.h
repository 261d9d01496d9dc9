// Each method against each exact training of its network, whatever the recipe of either.
#pragma once

#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// A line for each row of a method and each row of exact training that share network, data set and
// settings but for the recipe, and at least one seed: the method's test accuracy minus the exact
// training's in points, paired by seed (paired_difference, docs/statistics.md), the number of seeds
// in which the method is ahead, and the p of the sign-flip test, also adjusted by Holm over all
// lines. Whoever declares an exact training of another length as a row of an experiment reads here
// how a method fares against it. Throws as read_contents() does.
Table report_pairs(const std::string& db, const ReportOptions& options = {});

}  // namespace approx
