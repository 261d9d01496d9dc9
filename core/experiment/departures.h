// In what a smaller scale of an item departs from its full setting: derived from the two, so that
// no note can be out of date.
#pragma once

#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// One setting in which two runs differ.
struct Departure {
  std::string setting;
  std::string shown;
  std::string full;  // "" where the full setting has no such thing: a momentum where it has Adam

  auto operator<=>(const Departure&) const = default;
};

// The departures in settings that take part in `shown` (settings_in_effect), in their order. A
// setting that takes part in `full` alone follows from another that is named, such as the
// optimizer.
std::vector<Departure> departures(const RunConfig& full, const RunConfig& shown);

// "epochs 4, not 250"; "momentum 0.9". Of networks and methods of one name, the parameters that
// differ.
std::string text_of(const Departure& departure);

// For people, a line for each set of rows that departs alike: "departs from the full setting:
// epochs 4, not 250; momentum 0.9", "departs from the full setting for ResNet-50: ...", "left out
// of the full setting: ...". Where nothing departs, a line says so; at full scale there is none.
std::vector<std::string> departure_lines(const Experiment& full, const Experiment& shown);

}  // namespace approx
