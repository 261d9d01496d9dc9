// Exports a store as CSV files.
#pragma once

#include <string>
#include <vector>

#include "results/records/snapshot.h"

namespace approx {

// Writes every table as FOLDER/<table>.csv, raw samples as hexadecimal. Makes the folder and
// replaces files of those names. Returns the paths. Throws Error(kUsage) when it cannot write.
// Throws Error(kDatabase) for a table whose name has anything but letters, digits and _.
std::vector<std::string> export_store(const Snapshot& snapshot, const std::string& folder);

}  // namespace approx
