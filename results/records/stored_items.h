// What a store has of experiments: what a listing counts, and a sweep or a report builds on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/experiment/experiment.h"

namespace approx {

// What the store has of an experiment.
struct StoredItem {
  int64_t planned = 0;                  // cells
  std::map<Purpose, int64_t> finished;  // cells with a result; no purpose without one
  int64_t item_results = 0;             // studies and kernel benchmarks
  std::set<std::string> keys;           // of the finished cells

  int64_t all_finished() const;
};

// By the experiment's id. Empty where there is no store.
std::map<std::string, StoredItem> stored_items(const std::string& db);

// Whether a cell of that key has a result, under whatever name.
bool has_result(const std::map<std::string, StoredItem>& stored, const std::string& key);

// The cells with a result that are an item's: under its name, and under any other by their keys,
// where it was loaded with the checksums of the store. Of those under its name only the ones of a
// purpose that it plans.
int64_t finished_runs(const Experiment& item, const std::map<std::string, StoredItem>& stored);

// Those under its name whose purpose it does not plan: what `sweep --purpose` asked for beside.
std::map<Purpose, int64_t> finished_beside(const Experiment& item,
                                           const std::map<std::string, StoredItem>& stored);

// An item at one of the scales that its file declares, as for finished_runs().
using ItemAtScale = std::function<const Experiment&(Scale)>;

// The scale at which most of an item has been run, under its name or any other; of equals the
// larger. Smoke counts where there is nothing else, and full where there is nothing.
Scale most_measured(const Experiment& layout, const ItemAtScale& at_scale,
                    const std::map<std::string, StoredItem>& stored);

// What the runs of an experiment's rows have shown, by the labels of the rows.
struct StoredRows {
  // Of timing runs, the least that the 95 % interval has; the estimate where there is none.
  std::map<LabelKey, double> speedups;
  // What the row's method kept of what it approximated, a share: of the entries of the gradients
  // that it pruned; where it pruned none, of the pairs of its products.
  std::map<LabelKey, double> densities;
  std::map<LabelKey, int64_t> steps_per_epoch;
  std::set<LabelKey> disturbed;  // those whose timings do not count
};

// Empty where there is no store or no such experiment in it.
StoredRows stored_rows(const std::string& db, const std::string& experiment);

}  // namespace approx
