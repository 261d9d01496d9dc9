// The catalogue of this process: that of the build, and methods that a command adds.
#pragma once

#include <vector>

#include "core/config/catalogue.h"

namespace approx {

// Adds methods to Catalogue::embedded(), before a command uses it. Throws Error(kUsage) for a name
// that is taken.
void add_to_catalogue(const std::vector<MethodInfo>& methods);

}  // namespace approx
