// Whether a network that was built for images of one size takes images of other sizes.
#pragma once

#include <vector>

#include "core/networks/network.h"

namespace approx {

// Runs an empty image of each side in `sizes` through the network, which was built for `input`.
// Changes only the layers' note of their last input size. Throws Error(kUsage) that names a side
// that the network cannot take: a network without global pooling takes one size only.
void check_sizes(Network& network, const NetworkInput& input, const std::vector<int64_t>& sizes);

}  // namespace approx
