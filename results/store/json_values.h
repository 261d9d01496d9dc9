// What the store takes out of the JSON of workers, who may write anything, and puts into columns.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"

namespace approx {

// The text under `key`, `fallback` where there is none.
std::string text_or(const Json& json, const char* key, const std::string& fallback);

// A number without what is behind its point; nothing for what is no number, or one that no integer
// holds.
std::optional<int64_t> whole_number(const Json& json);

// That under `key` of an object, nothing where there is none.
std::optional<int64_t> integer_or_none(const Json& json, const char* key);

// The same. Throws where there is none.
int64_t integer_at(const Json& json, const char* key);

// A number as the store keeps it: a value, or the name of what it is instead.
struct StoredNumber {
  std::optional<double> value;
  std::optional<std::string> special;  // "nan", "+inf", "-inf"
};

// `json` is a number, or null and `special` says what it is instead (NaN if it does not). Throws
// for anything else.
StoredNumber to_number(const Json& json, const Json& special);

// The list of nanoseconds under `key`, empty where there is none. Throws where it holds anything
// else than numbers from 0 on.
std::vector<int64_t> times_of(const Json& event, const char* key);

// The numbers as they lie in memory, 8 bytes each.
Json to_blob(const std::vector<int64_t>& values);

}  // namespace approx
