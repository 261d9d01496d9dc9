// The positions of layers in their network.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/config/catalogue.h"

namespace approx {

// Positions of layers in a network, from 1: as in the catalogue, then unknown layers by name, and
// "" last. Without a catalogue all are sorted by name.
std::map<std::string, int64_t> layer_positions(const std::set<std::string>& layers,
                                               const std::string& network,
                                               const Catalogue* catalogue);

// Sets `index` of each line to the position of its layer, and sorts the lines by it.
template <typename Line>
void order_by_layer(std::vector<Line>& lines, const std::string& network,
                    const Catalogue* catalogue) {
  std::set<std::string> layers;
  for (const auto& line : lines) layers.insert(line.layer);
  const auto positions = layer_positions(layers, network, catalogue);
  for (auto& line : lines) line.index = positions.at(line.layer);
  std::ranges::stable_sort(lines, {}, &Line::index);
}

}  // namespace approx
