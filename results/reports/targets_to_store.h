// The targets that `db target` derives and stores.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "results/records/snapshot.h"
#include "results/rows/options.h"
#include "results/store/run_store.h"

namespace approx {

struct TargetsToStore {
  StudyRecord record;              // all of them with their provenance
  std::vector<std::string> lines;  // one for each target, for people
  bool few = false;                // whether one rests on fewer than kDenseRunsForATarget runs
};

// Derives the targets of an experiment's exact trainings ("": of all in the store) that no
// experiment says. Throws Error(kUsage) for an unknown experiment, and where there is none.
TargetsToStore targets_to_store(const Snapshot& snapshot, const std::string& experiment,
                                const Margin& margin, const Catalogue& catalogue);

}  // namespace approx
