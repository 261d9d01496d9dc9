// Data sets whose images went through a lossy step such as JPEG.
#pragma once

#include <set>
#include <string>

#include "results/store/database.h"

namespace approx {

// The lossy data sets, by name, that the runs with a result read. `experiment`: of this one alone;
// "": of all. Throws Error(kDatabase).
std::set<std::string> lossy_datasets(SQLite::Database& db, const std::string& experiment);

// The note below a table on results with such data; "" for none.
std::string lossy_note(const std::set<std::string>& datasets);

}  // namespace approx
