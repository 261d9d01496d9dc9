// Studies for items of papers.
#pragma once

#include "cli/command.h"
#include "core/experiment/experiment.h"

namespace approx {

// Computes [study] of an experiment and stores its table with the experiment's id, as
// `sweep @paper:item` does for an item without trainings.
void run_study_item(const Experiment& experiment, const StudyItem& item,
                    const GlobalOptions& options);

}  // namespace approx
