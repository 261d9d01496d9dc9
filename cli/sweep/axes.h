// The flags that change results: one for each axis of an experiment, and --set for all other
// settings.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "core/experiment/experiment.h"

namespace approx {

// Adds --method, --schedule, ..., --set to `app`. Each flag replaces that axis of the file.
// `lists`: whether an axis may have several values, and its flag may be repeated (a sweep), or one
// (a run).
void add_axis_flags(CLI::App& app, Overrides& overrides, bool lists);

// A function for load_experiment that returns the checksum of a packed data set. For a missing data
// set it throws Error(kData), which says how to import it. With `otherwise` it reports that once on
// stderr instead, and returns the checksum from `otherwise`.
std::function<std::string(const std::string&)> dataset_checksums(
    const std::string& data_dir,
    const std::function<std::string(const std::string&)>& otherwise = {});

}  // namespace approx
