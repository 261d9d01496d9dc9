// Runs that are the same under settings that are written differently.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// A line for each setting of a recipe that is not at its default and takes no part in any run that
// has it: "recipe.decay = 0.5 has no effect under lr_schedule = constant; counted as its default".
std::vector<std::string> idle_lines(const std::vector<PlannedRun>& runs);

// Runs that the store has under a key of before (PlannedRun::same_keys), and not under the one that
// they have now, keep that key: nothing is run twice. Throws Error(kDatabase).
void keep_stored_keys(std::vector<PlannedRun>& runs, const std::string& db);

}  // namespace approx
