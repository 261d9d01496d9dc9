// Kernel benchmarks that a paper's item asks for.
#pragma once

#include "cli/command.h"
#include "core/experiment/experiment.h"

namespace approx {

// Measures [kernels] of an experiment and stores the results with the experiment's id: what
// `sweep @paper:item` does for an item that is no training.
void run_kernel_item(const Experiment& experiment, const KernelItem& item,
                     const GlobalOptions& options);

}  // namespace approx
