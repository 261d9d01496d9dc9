// Stores the beginning and the end of a run.
#pragma once

#include <cstdint>
#include <string>

#include "results/store/database.h"
#include "results/store/outcome.h"
#include "results/store/run_store.h"

namespace approx {

// Adds the row of a run that begins, inside the caller's transaction: the next attempt at its cell.
// `run` is its line in the journal: {"uid", "run_key", "utc", "directory", "environment",
// "isolated"}. Returns the number of the run. Throws Error(kInternal) where there is no such cell.
int64_t insert_run(SQLite::Database& db, const Json& run);

// The complete end of a run: with settle() applied, and the number of events in its log that could
// be used.
struct RunEnding {
  std::string uid, utc;
  RunEnd end;
  int64_t events = 0;
};

// Converts to and from the form in the journal, which leaves out empty members.
void to_json(Json& json, const RunEnding& ending);
void from_json(const Json& json, RunEnding& ending);

// The end `end`, corrected by the events where they know better. That is so for which good end it
// was, the worker's own error, and disturbances of its clock.
RunEnd settle(RunEnd end, const Outcome& outcome);

// Writes the end of a run, inside the caller's transaction. Throws Error(kInternal) when the run is
// not running.
void write_end(SQLite::Database& db, const Outcome& outcome, const RunEnding& ending);

struct RunningRow {
  int64_t run_id = 0;
  std::string run_directory, uid;
};

// Whether nobody holds a lock in the run's directory any more.
bool gone(const RunningRow& row);

// Ends a run that is gone, inside the caller's transaction. It ends as its log says, or as lost, at
// the time when the log was last written (now if there is no log). The log is read beforehand: it
// may be long, and nobody can write during the transaction. Returns the end that was written.
RunEnding bury(SQLite::Database& db, const RunningRow& row, const Outcome& outcome);

// Throws Error(kDatabase) where a sweep is at work on the store. A sweep that begins after this
// check waits for the lock of the caller's write transaction before it makes a folder.
void expect_no_sweep(SQLite::Database& db, const std::string& path);

}  // namespace approx
