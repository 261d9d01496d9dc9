// A selection of cells of a grid, by their values on its axes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/params.h"
#include "core/config/run_config.h"

namespace approx {

struct PlannedRun;

// For each key, the selected values; empty: all.
struct Selection {
  std::vector<std::string> methods, schedules, networks;  // labels
  std::vector<Purpose> purposes;
  std::map<std::string, std::vector<Json>> scalars;
};

// Whether a run has one of the values of each key. A dense run has no schedule.
bool selects(const Selection& selection, const PlannedRun& run);

// "network resnet20 or vgg19 and batch_size 64", for people.
std::string text_of(const Selection& selection);

// A value of an axis that only some cells have.
struct Condition {
  std::string axis;  // its key in a file
  Json value;  // a label of a method, schedule or network, the number of a recipe, or a scalar
  Selection when;
  std::string reason;  // given for cells that it excludes
  std::string place;   // in the file, for messages
};

}  // namespace approx
