// Which runs of a store are those of an item: by their keys, whatever experiment asked for them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/experiment/experiment.h"
#include "core/experiment/tuning.h"

namespace approx {

// The data that a store's runs were made with, newest first of each name: what load_layout needs so
// that the keys of an item's runs are those of the store. "" for data that it does not know.
std::function<std::string(const std::string& dataset)> stored_checksums(const std::string& db);

// What a store says of how the runs of an item were planned and its file does not. Read once, for
// any number of items; of no store it says nothing.
class StoredPlans {
 public:
  explicit StoredPlans(const std::string& db);

  // Those of stored_checksums().
  const std::function<std::string(const std::string& dataset)>& checksums() const {
    return checksums_;
  }

  // Plans the runs of an item as the store's: on a GPU where all runs of the store were computed on
  // one, since the device is the sweep's choice (`--device cuda`); then at the learning rates that
  // the tuning runs found (core/experiment/tuning.h), where rows that are not tuned are excluded.
  // `item` as for members_of().
  void plan(Experiment& item, const Catalogue& catalogue) const;

 private:
  std::function<std::string(const std::string& dataset)> checksums_;
  HeldOutAccuracy accuracies_;
  bool on_gpu_ = false;
};

// The planned runs of an item by the keys that they may have in a store. They must outlive it.
using Members = std::map<std::string, const PlannedRun*>;

// `item` was loaded with stored_checksums(). Threads that it leaves to the machine are those of
// whatever machine made a run, which takes the catalogue; without one they are this machine's.
// Timings by earlier built-in kernel rules are members.
// Excluded runs are no members.
Members members_of(const Experiment& item, const std::string& db, const Catalogue* catalogue);

}  // namespace approx
