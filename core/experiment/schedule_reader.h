// Reads schedules from experiment files: by name, as rules, or as a picture of letters.
#pragma once

#include <string>

#include "core/config/catalogue.h"
#include "core/experiment/grid.h"
#include "core/experiment/toml_source.h"

namespace approx {

// Reads the schedule at `node`, which is at `path` of `source`:
//   "wang2019_s1"                                   a named schedule, its name is its label
//   {label = "...", schedule = "..."}               with a label for tables
//   {label = "...", layers = ..., steps = ..., ...} one rule
//   {label = "...", rules = [...]}                  several rules
//   {label = "...", matrix = [...], key = {...}}    steps x layers, a letter each
// A table may have a `when`, which the grid reads (axes_reader.h). Throws Error(kUsage) with the
// place. Methods in rules are checked against `catalogue`.
LabelledSchedule read_schedule(const TomlSource& source, const toml::node& node,
                               const std::string& path, const Catalogue& catalogue);

}  // namespace approx
