// Items of a paper that are no trainings: what `sweep @paper:item` does for them.
#pragma once

#include "cli/command.h"
#include "core/experiment/experiment.h"

namespace approx {

// Measures [kernels] and stores the results with the experiment's id.
void run_kernel_item(const Experiment& experiment, const GlobalOptions& options);

// Computes [study] and stores its table with the experiment's id.
void run_study_item(const Experiment& experiment, const GlobalOptions& options);

}  // namespace approx
