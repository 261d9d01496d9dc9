// What a sweep would do: --dry-run.
#pragma once

#include <string>

#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Prints on stdout every run of an experiment of trainings, its state in the store `db` and what is
// to be done, as a table or as JSON ("approxtrain.plan/1"). Writes nothing.
void print_plan(const Experiment& experiment, const std::string& db, const SweepOptions& sweep,
                bool as_json);

// The same of an item that is no grid of trainings, which is `what`: without runs.
void print_item_plan(const Experiment& experiment, const std::string& what, bool as_json);

}  // namespace approx
