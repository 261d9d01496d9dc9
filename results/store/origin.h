// Where a result comes from: the rows of its machine, its program and its data, out of the
// environment that a worker reports ({"engine": {...}, "dataset": {...}, ...}).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/params.h"
#include "results/store/database.h"

namespace approx {

// "2026-11-22T14:05:09Z"; `ns`: since 1970.
std::string utc_of(int64_t ns);
std::string utc_now();

// The name of what begins now, which nothing else anywhere has (schema7.sql). It is above `last`,
// the name of what went before it, also where the clock was set back: names are in the order of
// time.
std::string new_uid(std::string_view last = "");

// A yes or no of the environment: of the engine's part, or of the whole.
bool environment_flag(const Json& environment, const char* key, bool fallback);

// The environment as its column holds it: an object in any case.
std::string environment_column(const Json& environment);

// Each finds its row or adds it, inside the caller's transaction.
int64_t host_id(SQLite::Database& db, const Json& environment);
int64_t build_id(SQLite::Database& db, const Json& environment);
// Nothing where the worker does not say what it read.
std::optional<int64_t> dataset_id(SQLite::Database& db, const Json& environment);

}  // namespace approx
