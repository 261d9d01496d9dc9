// Which runs of a store are those of an item: by their keys, whatever experiment asked for them.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// The data that a store's runs were made with, newest first of each name: what load_layout needs so
// that the keys of an item's runs are those of the store. "" for data that it does not know.
std::function<std::string(const std::string& dataset)> stored_checksums(const std::string& db);

// The numbers of threads of its runs.
std::vector<int64_t> stored_threads(const std::string& db);

// The planned runs of an item by the keys that they may have in a store. They must outlive it.
using Members = std::map<std::string, const PlannedRun*>;

// `item` was loaded with stored_checksums(). Threads that it leaves to the machine are those of
// whatever machine made a run, which takes the catalogue; without one they are this machine's.
// Timings by earlier built-in kernel rules are members.
// Excluded runs are no members.
Members members_of(const Experiment& item, const std::string& db, const Catalogue* catalogue);

// The same by what was read of the store before.
Members members_of(const Experiment& item, const std::vector<int64_t>& threads,
                   const std::function<std::string(const std::string& dataset)>& checksum,
                   const Catalogue* catalogue);

}  // namespace approx
