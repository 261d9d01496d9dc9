// Where layers stand in their network.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "core/config/catalogue.h"

namespace approx {

// Positions of layers in a network, from 1: as the catalogue has them, further ones by name.
// Without a catalogue all stand by name.
std::map<std::string, int64_t> layer_positions(const std::set<std::string>& layers,
                                               const std::string& network,
                                               const Catalogue* catalogue);

}  // namespace approx
