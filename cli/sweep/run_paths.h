// Where runs keep their files: beside the database.
#pragma once

#include <cstdint>
#include <string>

#include "results/store/run_folders.h"

namespace approx {

// Makes the directory of an attempt at a run. Throws Error(kInternal) where it cannot be made.
std::string make_run_directory(const std::string& db, const std::string& run_key, int64_t attempt);

// Where the accuracy run of that key keeps its checkpoints until it has a result, whichever attempt
// works on it.
std::string checkpoint_directory(const std::string& db, const std::string& run_key);

void remove_checkpoints(const std::string& db, const std::string& run_key);

}  // namespace approx
