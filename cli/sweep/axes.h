// The flags that decide results: one for each axis of an experiment, and --set
// for everything else.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>

#include "core/experiment/experiment.h"

namespace approx {

// Adds --method, --schedule, ..., --set to `app`; each flag replaces that axis
// of the file. `lists`: whether an axis may have several values (a sweep) or
// one (a run).
void add_axis_flags(CLI::App& app, Overrides& overrides, bool lists);

// The checksum of a packed data set, for load_experiment. Of one that is missing it throws
// Error(kData), which says how to import it; with `otherwise` it says that on stderr, once, and the
// checksum is what that returns.
std::function<std::string(const std::string&)> dataset_checksums(
    const std::string& data_dir,
    const std::function<std::string(const std::string&)>& otherwise = {});

}  // namespace approx
