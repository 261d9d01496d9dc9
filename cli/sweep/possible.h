// Which runs of an experiment can be done, as far as that is known before one is begun.
#pragma once

#include "core/experiment/experiment.h"

namespace approx {

// Excludes the runs that ask for what their data set does not have (core/data/demands.h), with the
// reason: each would fail by itself.
void exclude_unserved(Experiment& experiment);

// Throws Error(kUsage) where no run can be done, whatever the file leaves out: then there is
// nothing that a sweep could do.
void check_any_possible(const Experiment& experiment);

}  // namespace approx
