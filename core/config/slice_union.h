// Unions of slices, in one spelling.
#pragma once

#include <vector>

#include "core/config/slice.h"

namespace approx {

// One list of slices for every union of the same numbers: "6,4,2", "2:8:2" and "2,4,6" are 2:7:2. A
// single slice changes only in its stop, to just above its last number, and in its step, to 1 if it
// has one number. If a slice reaches far (a start, a stop or a common period above 4,096), only
// equal slices are joined. The list then depends on the spelling.
std::vector<Slice> canonical_union(const std::vector<Slice>& slices);

}  // namespace approx
