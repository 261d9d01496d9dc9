// What a store has of experiments: what a listing counts, and a sweep or a report builds on.
// on.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/experiment/experiment.h"

namespace approx {

// What the store has of an experiment.
struct StoredItem {
  int64_t planned = 0, finished = 0;  // cells
  int64_t item_results = 0;           // studies and kernel benchmarks
};

// By the experiment's id. Empty where there is no store.
std::map<std::string, StoredItem> stored_items(const std::string& db);

// The scale at which most of an item has been run; of equals the larger. Smoke counts where there
// is nothing else, and full where there is nothing.
Scale most_measured(const Experiment& layout, const std::map<std::string, StoredItem>& stored);

// The speedups that timing runs of an experiment have measured. Empty where there is no store or no
// such experiment in it.
std::map<LabelKey, double> stored_speedups(const std::string& db, const std::string& experiment);

}  // namespace approx
