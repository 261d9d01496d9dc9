// Maintenance of the database file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/store/database.h"

namespace approx {

// Checks the content of a store. Returns the faults, one line each (`rule: what, where`), empty for
// a store whose numbers can be trusted. Reads a snapshot. Throws Error(kDatabase) where there is no
// store to read.
std::vector<std::string> check_store(const std::string& db);

// The names of the rules that check_store applies.
std::vector<std::string> check_rules();

// Writes a complete, compact copy of the committed content to `out`. Throws Error(kUsage) when
// `out` exists or cannot be written.
void backup_store(const std::string& db, const std::string& out);

// The schema versions before and after a migration.
struct SchemaChange {
  int64_t from = 0, to = 0;
};

// Migrates a store to this program's schema, as opening it for writing does. A copy of the old
// store stays beside it ("FILE.v6.backup"). Throws Error(kDatabase) as opening does, and where
// there is no store.
SchemaChange migrate_store(const std::string& db, const StoreOptions& options = {});

}  // namespace approx
