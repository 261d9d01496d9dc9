// Converts the JSON of workers, who may write anything, into values of columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"

namespace approx {

// The text under `key`; `fallback` where there is none.
std::string text_or(const Json& json, const char* key, const std::string& fallback);

// A number truncated to an integer; nothing where `json` is no number, or one that no integer
// holds.
std::optional<int64_t> whole_number(const Json& json);

// The integer under `key` of an object; nothing where there is none.
std::optional<int64_t> integer_or_none(const Json& json, const char* key);

// The integer under `key` of an object. Throws where there is none.
int64_t integer_at(const Json& json, const char* key);

// A number as the store keeps it: a value, or a name if it is not finite.
struct StoredNumber {
  std::optional<double> value;
  std::optional<std::string> special;  // "nan", "+inf", "-inf"
};

// `json` is a number, or null; then `special` names its value (NaN without a name). Throws for
// anything else.
StoredNumber to_number(const Json& json, const Json& special);

// The list of nanoseconds under `key`, empty where there is none. Throws where it holds anything
// but numbers from 0 on.
std::vector<int64_t> times_of(const Json& event, const char* key);

// The numbers as a BLOB in their memory layout, 8 bytes each.
Json to_blob(const std::vector<int64_t>& values);

}  // namespace approx
