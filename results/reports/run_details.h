// Everything that a store has about one run.
#pragma once

#include <cstdint>
#include <string>

#include "base/params.h"
#include "results/records/snapshot.h"

namespace approx {

// One run as one document: "schema": "approxtrain.run/1", "run", "config", "environment",
// "metrics", "layers", "blocks". Throws Error(kUsage) for an unknown id.
Json run_details(const Snapshot& snapshot, int64_t run_id);

// The details of a run for people, as Markdown.
std::string render_run(const Json& details);

}  // namespace approx
