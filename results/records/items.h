// What a store has of experiments: what a listing counts, a report shows and a sweep builds on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "core/experiment/tuning.h"
#include "results/store/database.h"

namespace approx {

// What the store has of an experiment.
struct StoredItem {
  int64_t planned = 0;                  // cells
  std::map<Purpose, int64_t> finished;  // cells with a result; no purpose without one
  int64_t item_results = 0;             // studies and kernel benchmarks
  std::set<std::string> keys;           // of the finished cells

  int64_t all_finished() const;
};

// The planned runs of an item by the keys that they may have in a store. They must outlive it.
using Members = std::map<std::string, const PlannedRun*>;

// An item at one of the scales that its file declares, loaded with checksums().
using ItemAtScale = std::function<const Experiment&(Scale)>;

class StoredItems {
 public:
  // Reads it. Throws Error(kDatabase).
  explicit StoredItems(SQLite::Database& db);
  // Holds these items alone, by their ids.
  explicit StoredItems(std::map<std::string, StoredItem> items);

  const std::map<std::string, StoredItem>& all() const { return items_; }
  bool has(const std::string& id) const { return items_.contains(id); }

  // The data that the runs were made with, newest first of each name: what load_layout needs so
  // that the keys of an item's runs are those of the store. "" for data that it does not know.
  const std::function<std::string(const std::string& dataset)>& checksums() const {
    return checksums_;
  }

  // By run key, the accuracy on held-out images at the end of every accuracy run that has one, and
  // 0 of one that diverged.
  const HeldOutAccuracy& held_out() const { return held_out_; }

  // The runs of an item, by their keys, whatever experiment asked for them. `item` was loaded with
  // checksums(). Threads that it leaves to the machine are those of whatever machine made a run,
  // which takes the catalogue; without one they are this machine's. Timings by earlier built-in
  // kernel rules are members, excluded runs are none.
  Members members_of(const Experiment& item, const Catalogue* catalogue) const;

  // Plans the runs of an item as the store has them. The device is the sweep's choice (`--device`):
  // they are planned on the other one where the store has more of the item's runs there. Learning
  // rates are those that the tuning runs on that device found (core/experiment/tuning.h); rows that
  // are not tuned are excluded. `item` as for members_of().
  void plan(Experiment& item, const Catalogue& catalogue) const;

  // How many cells with a result are an item's: under its name those of a purpose that it plans,
  // and under any other name by their keys. `item` as for members_of().
  int64_t finished_runs(const Experiment& item) const;

  // How many runs under its name have a purpose that it does not plan (`sweep --purpose`).
  std::map<Purpose, int64_t> finished_beside(const Experiment& item) const;

  // Whether there is any result of an item.
  bool measured(const Experiment& item) const { return has(item.id) || finished_runs(item) > 0; }

  // The scale at which most of an item has been run, under its name or any other; of equals the
  // larger. Smoke counts where there is nothing else, and full where there is nothing.
  Scale most_measured(const Experiment& layout, const ItemAtScale& at_scale) const;

 private:
  bool has_result(const std::string& key) const;
  int64_t results_of(const Experiment& item, const Catalogue& catalogue) const;
  void take_rates(Experiment& item, const Catalogue& catalogue) const;

  std::map<std::string, StoredItem> items_;
  std::function<std::string(const std::string& dataset)> checksums_;
  HeldOutAccuracy held_out_;
  std::set<std::string> devices_;  // of runs with a result
  std::vector<int64_t> threads_;   // of any
};

}  // namespace approx
