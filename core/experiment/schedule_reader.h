// Schedules as experiment files give them: by name, as rules, or as a picture of letters.
#pragma once

#include <string>

#include "core/config/catalogue.h"
#include "core/experiment/grid.h"
#include "core/experiment/toml_source.h"

namespace approx {

// Reads the schedule at `node`, which stands at `path` of `source`:
//   "wang2019_s1"                                   a named one, its own label
//   {label = "...", schedule = "..."}               with a label for tables
//   {label = "...", layers = ..., steps = ..., ...} one rule
//   {label = "...", rules = [...]}                  several
//   {label = "...", matrix = [...], key = {...}}    steps x layers, a letter each
// A table may have a `when`, which is the grid's to read (axes_reader.h).
// Throws Error(kUsage) with the place; methods in rules are checked against `catalogue`.
LabelledSchedule read_schedule(const TomlSource& source, const toml::node& node,
                               const std::string& path, const Catalogue& catalogue);

}  // namespace approx
