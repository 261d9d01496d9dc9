// Recognises stores by their first bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace approx {

// SQLite's application id of a store: 'APTX', as in schema.sql.
inline constexpr int64_t kApplicationId = 0x41505458;

// The files FOLDER/*.db that are stores, sorted by name. No file is opened as a database. Files and
// folders that cannot be read are left out.
std::vector<std::string> stores_in(const std::string& folder);

}  // namespace approx
