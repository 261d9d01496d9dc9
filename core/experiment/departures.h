// The differences between a smaller scale of an item and its full setting. They are computed from
// the two, so that no note can be out of date.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// One setting in which two runs differ.
struct Departure {
  std::string setting;
  std::string shown;
  std::string full;  // "" if the full setting has none: a momentum under Adam

  auto operator<=>(const Departure&) const = default;
};

// The departures in settings that take part in `shown` (settings_in_effect), in their order. A
// setting that takes part in `full` alone is left out: it follows from another departure, such as
// the optimizer.
std::vector<Departure> departures(const RunConfig& full, const RunConfig& shown);

// "epochs 4, not 250"; "momentum 0.9". For networks and methods of one name, only the parameters
// that differ.
std::string text_of(const Departure& departure);

// For people, one line for each set of rows that depart alike. Example lines: "departs from the
// full setting: epochs 4, not 250; momentum 0.9", "departs from the full setting for ResNet-50:
// ...", "left out of the full setting: ...". If nothing departs, a line says so. At full scale
// there is no line.
std::vector<std::string> departure_lines(const Experiment& full, const Experiment& shown);

}  // namespace approx
