// How a store's runs of an item were planned, where its file does not say.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "core/experiment/tuning.h"
#include "results/records/stored_items.h"

namespace approx {

// Read once from a store, for any number of items; of no store it says nothing.
class StoredPlans {
 public:
  explicit StoredPlans(const std::string& db);

  // Those of stored_checksums().
  const std::function<std::string(const std::string& dataset)>& checksums() const {
    return checksums_;
  }
  const std::map<std::string, StoredItem>& items() const { return items_; }

  // Plans the runs of an item as the store has them. The device is the sweep's choice (`--device`):
  // they are planned on the other one where the store has more of the item's runs there. Learning
  // rates are those that the tuning runs on that device found (core/experiment/tuning.h); rows that
  // are not tuned are excluded. `item` as for members_of().
  void plan(Experiment& item, const Catalogue& catalogue) const;

 private:
  int64_t results_of(const Experiment& item, const Catalogue& catalogue) const;
  void take_rates(Experiment& item, const Catalogue& catalogue) const;

  std::function<std::string(const std::string& dataset)> checksums_;
  HeldOutAccuracy accuracies_;
  std::map<std::string, StoredItem> items_;
  std::set<std::string> devices_;  // of runs with a result
  std::vector<int64_t> threads_;   // of any
};

}  // namespace approx
