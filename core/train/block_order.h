// Which of the two networks of a timing run is at work when.
#pragma once

#include <cstdint>
#include <vector>

namespace approx {

// For each pair of blocks whether the exact one comes first. Of every two pairs that follow each
// other one has it first, drawn which: both orders are equally frequent (of an odd number of pairs,
// but for one) and a drift that is even over four blocks cancels. `draw` picks the order: not the
// seed of the run, or all runs of a seed would have the same one.
std::vector<bool> exact_first(int64_t pairs, uint64_t draw);

}  // namespace approx
