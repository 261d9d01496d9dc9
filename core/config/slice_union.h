// Unions of slices, in one spelling.
#pragma once

#include <vector>

#include "core/config/slice.h"

namespace approx {

// Slices that together contain the same numbers, the same list for every spelling: "6,4,2",
// "2:8:2" and "2,4,6" are 2:7:2. A single slice stays as it is but for its stop, which is just
// above its last number, and its step, which is 1 where there is one number. Of slices that reach
// far (a start, a stop or a common period above 4,096) equal ones are one, and nothing else is
// known.
std::vector<Slice> canonical_union(const std::vector<Slice>& slices);

}  // namespace approx
