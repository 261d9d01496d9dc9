// Studies that a paper's item asks for.
#pragma once

#include "cli/command.h"
#include "core/experiment/experiment.h"

namespace approx {

// Computes [study] of an experiment and stores its table with the experiment's id: what
// `sweep @paper:item` does for an item that is no training.
void run_study_item(const Experiment& experiment, const StudyItem& item,
                    const GlobalOptions& options);

}  // namespace approx
