// Where the results of a store come from.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "results/records/snapshot.h"

namespace approx {

// Machines, builds, data sets and runs, a line each: what it is ("machine NAME"), and what is known
// of it.
std::vector<std::pair<std::string, std::string>> provenance_of(const Snapshot& snapshot);

}  // namespace approx
