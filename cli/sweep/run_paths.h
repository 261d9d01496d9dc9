// The folders of runs, beside the database.
#pragma once

#include <cstdint>
#include <string>

#include "results/store/run_folders.h"

namespace approx {

// Makes the directory of an attempt at a run and returns its path. Throws Error(kInternal) where it
// cannot be made.
std::string make_run_directory(const std::string& db, const std::string& run_key, int64_t attempt);

// The directory for checkpoints of the accuracy run with that key, shared by all its attempts,
// until it has a result.
std::string checkpoint_directory(const std::string& db, const std::string& run_key);

void remove_checkpoints(const std::string& db, const std::string& run_key);

}  // namespace approx
