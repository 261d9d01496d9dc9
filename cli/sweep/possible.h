// Which runs of an experiment can be done, as far as that is known before one begins.
#pragma once

#include "core/experiment/experiment.h"

namespace approx {

// Excludes runs that need something which their data set does not have (core/data/demands.h), with
// the reason. Each of them would fail.
void exclude_unserved(Experiment& experiment);

// Throws Error(kUsage) where no run can be done. A run counts as possible if nothing but the file
// excludes it.
void check_any_possible(const Experiment& experiment);

}  // namespace approx
