// A store as files that anything reads.
#pragma once

#include <string>
#include <vector>

#include "results/records/snapshot.h"

namespace approx {

// Every table as FOLDER/<table>.csv, raw samples as hexadecimal. Makes the folder, replaces files
// of those names. Returns the paths. Throws Error(kUsage) when it cannot write, Error(kDatabase)
// for a table whose name has anything but letters, digits and _.
std::vector<std::string> export_store(const Snapshot& snapshot, const std::string& folder);

}  // namespace approx
