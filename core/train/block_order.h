// The order in which the two networks of a timing run work.
#pragma once

#include <cstdint>
#include <vector>

namespace approx {

// For each pair of blocks, whether the exact network comes first. It does so in one of every two
// successive pairs, at random. Both orders are then equally frequent, up to one pair, and a drift
// that is linear over four blocks cancels. `draw` picks the order. It is not the run's seed, or all
// runs of a seed would have one order.
std::vector<bool> exact_first(int64_t pairs, uint64_t draw);

}  // namespace approx
