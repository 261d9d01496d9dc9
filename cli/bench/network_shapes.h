// The layers of networks as shapes to benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/engine/engine.h"

namespace approx {

// Names of networks; "all" is every one. Throws Error(kUsage).
std::vector<const NetworkInfo*> networks_named(const Catalogue& catalogue,
                                               const std::vector<std::string>& names);

// Each distinct shape of their convolutions and linear layers (which are 1x1 convolutions of maps
// of one pixel), in the order in which they are met. Its label says which layers it stands for, by
// the numbers that schedules count them by: "resnet14 conv 2-5; resnet20 conv 2-7".
std::vector<ConvShape> network_shapes(const std::vector<const NetworkInfo*>& networks,
                                      int64_t batch);

}  // namespace approx
