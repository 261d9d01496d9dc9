// The beginning and the end of a run on their way into the store.
#pragma once

#include <cstdint>
#include <string>

#include "results/store/database.h"
#include "results/store/outcome.h"
#include "results/store/run_store.h"

namespace approx {

// Adds the row of a run that begins, inside the caller's transaction: the next attempt at its cell.
// `run` is its line in the journal: {"uid", "run_key", "utc", "directory", "environment",
// "isolated"}. Returns its number. Throws Error(kInternal) where there is no such cell.
int64_t insert_run(SQLite::Database& db, const Json& run);

// How a run ended, all told: with settle() applied, and how many of its log's events were of use.
struct RunEnding {
  std::string uid, utc;
  RunEnd end;
  int64_t events = 0;
};

// As it stands in the journal; what is empty is left out.
void to_json(Json& json, const RunEnding& ending);
void from_json(const Json& json, RunEnding& ending);

// `end` with what the events know better: which good end it was, the worker's own error, what it
// saw disturb its clock.
RunEnd settle(RunEnd end, const Outcome& outcome);

// Writes it, inside the caller's transaction. Throws Error(kInternal) when the run is not running.
void write_end(SQLite::Database& db, const Outcome& outcome, const RunEnding& ending);

struct RunningRow {
  int64_t run_id = 0;
  std::string run_directory, uid;
};

// Whether nobody holds a lock in its directory any more.
bool gone(const RunningRow& row);

// Ends a run that is gone, inside the caller's transaction: as its log says, or as lost, and when
// the log was last written; now where there is none. The log is read before, for it may be long and
// nobody can write meanwhile. Returns what was written.
RunEnding bury(SQLite::Database& db, const RunningRow& row, const Outcome& outcome);

// Throws Error(kDatabase) where a sweep is at work on the store. One that begins later than this
// looks waits for the lock of the caller's write transaction before it makes a folder.
void expect_no_sweep(SQLite::Database& db, const std::string& path);

}  // namespace approx
