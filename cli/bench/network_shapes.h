// The layers of networks as shapes to benchmark.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/engine/engine.h"

namespace approx {

// Networks by name; "all" is every one. Throws Error(kUsage).
std::vector<const NetworkInfo*> networks_named(const Catalogue& catalogue,
                                               const std::vector<std::string>& names);

// Each distinct shape of their convolutions and linear layers, in order of first appearance. A
// linear layer is a 1x1 convolution of maps of one pixel. The label names the layers of that shape
// by the numbers of schedules: "resnet14 conv 2-5; resnet20 conv 2-7".
std::vector<ConvShape> network_shapes(const std::vector<const NetworkInfo*>& networks,
                                      int64_t batch);

}  // namespace approx
