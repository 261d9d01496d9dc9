// Looking after the file itself.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "results/store/database.h"

namespace approx {

// What is wrong with the content, one line each (`rule: what, where`), empty for a store whose
// numbers may be trusted. Reads a snapshot. Throws Error(kDatabase) where there is no store to
// read.
std::vector<std::string> check_store(const std::string& db);

// The names of the rules that check_store applies.
std::vector<std::string> check_rules();

// A complete, compact copy of what is committed now. Throws Error(kUsage) when `out` exists or
// cannot be written.
void backup_store(const std::string& db, const std::string& out);

// Versions of a schema.
struct SchemaChange {
  int64_t from = 0, to = 0;
};

// Brings a store to this program's schema, as opening it for writing does; a copy of what it was
// stays beside it ("FILE.v6.backup"). Throws Error(kDatabase) as opening does, and where there is
// no store.
SchemaChange migrate_store(const std::string& db, const StoreOptions& options = {});

}  // namespace approx
