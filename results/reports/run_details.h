// Everything that a store has about one run.
#pragma once

#include <cstdint>
#include <vector>

#include "base/params.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"

namespace approx {

// One run as one document: "schema": "approxtrain.run/1", "run", "config", "environment",
// "metrics", "layers", "blocks". Throws Error(kUsage) for an unknown id.
Json run_details(const Snapshot& snapshot, int64_t run_id);

// The details of a run for people: a table for each part that is not empty. The tables of the run,
// its configuration and its environment have two columns without headers.
std::vector<Table> run_tables(const Json& details);

}  // namespace approx
