// Exact trainings of several lengths, the curve against which `report breakeven` reads a method.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/experiment/grid.h"

namespace approx {

// Adds to `runs`, for each exact accuracy run beside an approximate one, an exact training at each
// of `shares` of its length: the same settings and seed, the recipe as `shortened` makes it
// (core/experiment/iso_time.h), the label kLengthPrefix and the epochs. It stands behind the run
// whose recipe it shortens, and PlannedRun::shortened_from has that recipe. An exact run is beside
// an approximate one if the two differ in nothing but method, schedule and learning rate. Runs that
// are excluded have none, nor has an exact run under a constant learning rate, whose own
// evaluations have the shorter trainings, nor a length that the grid has already.
// `shares`: above 0 and at most 1. `checksum`: the SHA-256 of a data set by its name.
void add_exact_lengths(std::vector<PlannedRun>& runs, const std::vector<double>& shares,
                       const std::function<std::string(const std::string&)>& checksum,
                       const Catalogue& catalogue);

}  // namespace approx
