// Runs that are equal although their settings are spelled differently.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// A line for each setting of a recipe that is not at its default but has no effect in any run.
// Example: "recipe.decay = 0.5 has no effect under lr_schedule = constant; counted as its default".
std::vector<std::string> idle_lines(const std::vector<PlannedRun>& runs);

// Runs that the store has only under an earlier key (PlannedRun::same_keys) keep that key, so that
// nothing is run twice. Throws Error(kDatabase).
void keep_stored_keys(std::vector<PlannedRun>& runs, const std::string& db);

}  // namespace approx
