// The plan of a sweep: --dry-run.
#pragma once

#include <string>

#include "cli/sweep/sweep_options.h"
#include "core/experiment/experiment.h"

namespace approx {

// Prints every run of an experiment of trainings on stdout, with its state in the store `db` and
// its planned action. The output is a table or JSON ("approxtrain.plan/1"). Writes nothing.
void print_plan(const Experiment& experiment, const std::string& db, const SweepOptions& sweep,
                bool as_json);

// Prints the plan of an item that is no grid of trainings, without runs; `what` describes it.
void print_item_plan(const Experiment& experiment, const std::string& what, bool as_json);

}  // namespace approx
