// The results of each experiment in a store. Listings count them, reports show them and sweeps
// build on them.
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

// The results of one experiment.
struct StoredItem {
  int64_t planned = 0;                  // cells
  std::map<Purpose, int64_t> finished;  // cells with a result; a purpose without one has no entry
  int64_t item_results = 0;             // studies and kernel benchmarks
  std::set<std::string> keys;           // run keys of the finished cells

  int64_t all_finished() const;
};

// The planned runs of an item, by the keys that they may have in a store. The runs must outlive it.
using Members = std::map<std::string, const PlannedRun*>;

// Returns an item at a scale that its file declares, loaded with checksums().
using ItemAtScale = std::function<const Experiment&(Scale)>;

class StoredItems {
 public:
  // Reads the results of all experiments. Throws Error(kDatabase).
  explicit StoredItems(SQLite::Database& db);
  // Holds only these items, by their ids.
  explicit StoredItems(std::map<std::string, StoredItem> items);

  const std::map<std::string, StoredItem>& all() const { return items_; }
  bool has(const std::string& id) const { return items_.contains(id); }

  // The checksum of each data set that the runs used: the newest one; "" for data that the store
  // does not know. It is what load_layout needs, so that an item's runs get the keys of the store.
  const std::function<std::string(const std::string& dataset)>& checksums() const {
    return checksums_;
  }

  // The accuracy on held-out images at the end of each accuracy run that has one, by run key. It is
  // 0 for a run that diverged, or that ended no better than by guessing (kAboveGuessing).
  const HeldOutAccuracy& held_out() const { return held_out_; }

  // The runs of an item by their keys, whichever experiment asked for them. `item` was loaded with
  // checksums(). A thread count that the item leaves to the machine may be that of any machine in
  // the store. Such matches need the catalogue; without one, this machine's count is used. Timings
  // by earlier built-in kernel rules are members. Excluded runs are not.
  Members members_of(const Experiment& item, const Catalogue* catalogue) const;

  // Plans the runs of an item as the store has them. The device is the sweep's choice (`--device`):
  // the runs are planned on the other device if the store has more of the item's runs there.
  // Learning rates come from the tuning runs on that device (core/experiment/tuning.h). Rows that
  // are not tuned are excluded. `item` as for members_of().
  void plan(Experiment& item, const Catalogue& catalogue) const;

  // How many cells of an item have a result. Under the item's name, cells of the purposes that it
  // plans count; under any other name, cells with its keys. `item` as for members_of().
  int64_t finished_runs(const Experiment& item) const;

  // The number of runs under the item's name by purposes that it does not plan (`sweep --purpose`).
  std::map<Purpose, int64_t> finished_beside(const Experiment& item) const;

  // Whether the store has any result of an item.
  bool measured(const Experiment& item) const { return has(item.id) || finished_runs(item) > 0; }

  // The scale at which most of an item has been run, under its name or any other; of equal ones the
  // larger. Smoke is returned only where no other scale has results, and full where none has.
  Scale most_measured(const Experiment& layout, const ItemAtScale& at_scale) const;

 private:
  bool has_result(const std::string& key) const;
  int64_t results_of(const Experiment& item, const Catalogue& catalogue) const;
  void take_rates(Experiment& item, const Catalogue& catalogue) const;

  std::map<std::string, StoredItem> items_;
  std::function<std::string(const std::string& dataset)> checksums_;
  HeldOutAccuracy held_out_;
  std::set<std::string> devices_;  // of runs with a result
  std::vector<int64_t> threads_;   // of any run
};

}  // namespace approx
