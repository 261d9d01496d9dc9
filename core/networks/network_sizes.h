// Whether a network that is built for images of one size takes others.
#pragma once

#include <vector>

#include "core/networks/network.h"

namespace approx {

// Runs an empty image of each side in `sizes` through the network, which was built for `input`.
// Changes nothing but what layers note of the size of their last input. Error(kUsage) that names
// the side it cannot take: a network without global pooling takes one size only.
void check_sizes(Network& network, const NetworkInput& input, const std::vector<int64_t>& sizes);

}  // namespace approx
