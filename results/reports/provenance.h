// Where the results of a store come from.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace approx {

// Machines, builds, data sets and runs, a line each: what it is ("machine NAME"), and what is known
// of it. Throws Error(kDatabase) as open_snapshot does.
std::vector<std::pair<std::string, std::string>> provenance_of(const std::string& db);

}  // namespace approx
