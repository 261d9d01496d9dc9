// The end of a run on its way into the store.
#pragma once

#include <cstdint>
#include <string>

#include "results/store/database.h"
#include "results/store/outcome.h"
#include "results/store/run_store.h"

namespace approx {

// `end` with what the events know better: which good end it was, the worker's own error, what it
// saw disturb its clock.
RunEnd settle(RunEnd end, const Outcome& outcome);

// Writes it, inside the caller's transaction. Throws Error(kInternal) when the run is not running.
void write_end(SQLite::Database& db, int64_t run_id, const Outcome& outcome, const RunEnd& end);

struct RunningRow {
  int64_t run_id = 0;
  std::string run_directory;
};

// Whether nobody holds a lock in its directory any more.
bool gone(const RunningRow& row);

// Ends a run that is gone, inside the caller's transaction: as its log says, or as lost. The log is
// read before, for it may be long and nobody can write meanwhile.
void bury(SQLite::Database& db, const RunningRow& row, const Outcome& outcome);

}  // namespace approx
