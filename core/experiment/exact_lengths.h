// Exact trainings of several lengths. They give the curve with which `report breakeven` compares a
// method.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/experiment/grid.h"

namespace approx {

// Adds exact trainings of several lengths to `runs`, one for each exact accuracy run beside an
// approximate one and each of `shares` of its length. Each has the settings and the seed of that
// run, and the recipe as `shortened` makes it (core/experiment/iso_time.h). Its label is
// kLengthPrefix and the epochs. It follows the run whose recipe it shortens;
// PlannedRun::shortened_from has that recipe. An exact run is beside an approximate one if the two
// differ only in method, schedule and learning rate. Nothing is added for:
// - runs that are excluded;
// - exact runs with a constant learning rate: their own evaluations give the shorter trainings;
// - lengths that the grid has already.
// `shares` are above 0 and at most 1. `checksum` gives the SHA-256 of a data set by its name.
void add_exact_lengths(std::vector<PlannedRun>& runs, const std::vector<double>& shares,
                       const std::function<std::string(const std::string&)>& checksum,
                       const Catalogue& catalogue);

}  // namespace approx
