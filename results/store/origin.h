// The origin of a result: the rows of its machine, its program and its data. They are made from the
// environment that a worker reports ({"engine": {...}, "dataset": {...}, ...}).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/params.h"
#include "results/store/sql.h"

namespace approx {

// A time as text, "2026-11-22T14:05:09Z"; `ns`: since 1970.
std::string utc_of(int64_t ns);
std::string utc_now();

// A new name for a run or result that begins now, unique everywhere (schema.sql, version 7). It is
// greater than `last`, the previous name, even if the clock was set back, so names sort by time.
std::string new_uid(std::string_view last = "");

// A truth value of the environment: from its "engine" part, or from the whole.
bool environment_flag(const Json& environment, const char* key, bool fallback);

// The columns of a result that tell its origin: "environment", "host_id" and "build_id". Adds the
// machine and the program where they are new, inside the caller's transaction.
Json origin_columns(SQLite::Database& db, const Json& environment);

// The number of the data set that was read, which is added where it is new; null where the worker
// does not report it.
Json dataset_id(SQLite::Database& db, const Json& environment);

}  // namespace approx
