// Which runs of a store are those of an item: by their keys, whatever experiment asked for them.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "core/experiment/experiment.h"

namespace approx {

// The data that a store's runs were made with, newest first of each name: what load_layout needs so
// that the keys of an item's runs are those of the store. "" for data that it does not know.
std::function<std::string(const std::string& dataset)> stored_checksums(const std::string& db);

// Gives the runs of a tuned item the learning rates that the store's tuning runs found
// (core/experiment/tuning.h); rows that are not tuned are excluded. `item` as for members_of().
void take_stored_rates(Experiment& item, const std::string& db, const Catalogue& catalogue);

// The planned runs of an item by the keys that they may have in a store. They must outlive it.
using Members = std::map<std::string, const PlannedRun*>;

// `item` was loaded with stored_checksums(). Threads that it leaves to the machine are those of
// whatever machine made a run, which takes the catalogue; without one they are this machine's.
// Timings by earlier built-in kernel rules are members.
// Excluded runs are no members.
Members members_of(const Experiment& item, const std::string& db, const Catalogue* catalogue);

}  // namespace approx
