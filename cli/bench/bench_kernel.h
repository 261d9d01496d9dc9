// Kernel benchmarks for items of papers.
#pragma once

#include "cli/command.h"
#include "core/experiment/experiment.h"

namespace approx {

// Measures [kernels] of an experiment and stores the results with the experiment's id, as
// `sweep @paper:item` does for an item without trainings.
void run_kernel_item(const Experiment& experiment, const KernelItem& item,
                     const GlobalOptions& options);

}  // namespace approx
