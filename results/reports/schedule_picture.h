// Which layer is approximated at which step, as a table that plots/schedule.gp draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/schedule.h"
#include "results/render/table.h"

namespace approx {

// A method for rules that name none, to see where a schedule approximates. It is the first in the
// catalogue that approximates the weight gradient in all its modes. "" if there is none.
std::string stand_in_method(const Catalogue& catalogue);

// Shown in place of that method's name, since the rules do not name one.
inline constexpr const char* kMethodOfTheRun = "the method of the run";

// The part of a training that is drawn.
struct PictureExtent {
  int64_t steps = 8;                                  // number of steps, from the first on
  int64_t steps_per_epoch = 100, total_steps = 1000;  // for rules that begin or end
  int64_t ranks = 1, rank = 0;  // ranks of the training, and the rank that is drawn
};

// Columns layer_index, layer, step, method. The method is "" where all computed products are exact,
// otherwise the methods.
// `method` is the run's, "" where there is no run. Throws Error(kUsage) as Schedule does.
Table schedule_picture(const std::vector<Rule>& rules, const std::string& network,
                       const std::string& method, const Catalogue& catalogue,
                       const PictureExtent& extent);

}  // namespace approx
