// Results of earlier versions of a method that count, because they differ by rounding alone.
#pragma once

#include <cstdint>
#include <map>

#include "core/config/catalogue.h"
#include "results/records/contents.h"
#include "results/store/database.h"

namespace approx {

// Sets Run::earlier_version of the attempts at `cells`, by their ids: whether the key of the cell
// is one that its configuration and its data had under such a version (earlier_keys). Throws
// Error(kDatabase).
void mark_earlier_versions(SQLite::Database& db, const Catalogue& catalogue,
                           std::map<int64_t, Cell>& cells);

}  // namespace approx
