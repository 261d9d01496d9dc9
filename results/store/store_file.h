// Which files are stores, told by their first bytes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace approx {

// What SQLite calls the application of a file: 'APTX', as in schema.sql.
inline constexpr int64_t kApplicationId = 0x41505458;

// The files FOLDER/*.db that are stores, by name. Nothing is opened as a database; a folder or a
// file that cannot be read has none.
std::vector<std::string> stores_in(const std::string& folder);

}  // namespace approx
