// Where a result comes from: the rows of its machine, its program and its data, out of the
// environment that a worker reports ({"engine": {...}, "dataset": {...}, ...}).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"
#include "results/store/sql.h"

namespace approx {

// "2026-11-22T14:05:09Z"; `ns`: since 1970.
std::string utc_of(int64_t ns);
std::string utc_now();

// The name of what begins now, which nothing else anywhere has (schema.sql, version 7). It is above
// `last`, the name of what went before it, also where the clock was set back: names are in the
// order of time.
std::string new_uid(std::string_view last = "");

// A yes or no of the environment: of the engine's part, or of the whole.
bool environment_flag(const Json& environment, const char* key, bool fallback);

// The columns of whatever was computed that say where: "environment", "host_id" and "build_id".
// Adds the machine and the program where they are new, inside the caller's transaction.
Json origin_columns(SQLite::Database& db, const Json& environment);

// Likewise the number of the data that were read; null where the worker does not say.
Json dataset_id(SQLite::Database& db, const Json& environment);

}  // namespace approx
