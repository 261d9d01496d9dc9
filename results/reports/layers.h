// What each product of each layer did.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

// One row for each (row of report_table, layer, product), the mean over its runs. Throws as
// report_table does.
Table report_layers(const std::string& db, const ReportOptions& options = {});

// Positions of layers in a network, from 1: as the catalogue has them, further ones by name.
// Without a catalogue all stand by name.
std::map<std::string, int64_t> layer_positions(const std::set<std::string>& layers,
                                               const std::string& network,
                                               const Catalogue* catalogue);

}  // namespace approx
