// Looking after the file itself.
#pragma once

#include <string>
#include <vector>

namespace approx {

// What is wrong with the content, one line each (`rule: what, where`), empty for a store whose
// numbers may be trusted. Reads a snapshot. Throws Error(kDatabase) where there is no store to
// read.
std::vector<std::string> check_store(const std::string& db);

// The names of the rules that check_store applies.
std::vector<std::string> check_rules();

// A complete, compact copy of what is committed now. Throws Error(kUsage) when `out` exists,
// Error(kDatabase) when it cannot be written.
void backup_store(const std::string& db, const std::string& out);

}  // namespace approx
