// Kernel benchmarks and studies on their way into the store, inside the caller's transaction.
#pragma once

#include <string>
#include <vector>

#include "base/params.h"
#include "results/store/database.h"
#include "results/store/run_store.h"

namespace approx {

// When something was computed, and the name that it has from then on.
struct Stamp {
  std::string uid, utc;
};

void write_study(SQLite::Database& db, const Stamp& stamp, const Json& environment,
                 const StudyRecord& study);

// Fields of a row: docs/events.md ("kernel").
void write_kernel_results(SQLite::Database& db, const Stamp& stamp, const Json& environment,
                          const std::vector<Json>& rows, const std::string& experiment);

}  // namespace approx
