// Which layer is approximated at which step, as a table that plots/schedule.gp draws.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/schedule.h"
#include "results/render/table.h"

namespace approx {

// A method for rules that name none, to see where a schedule approximates: the first of the
// catalogue that approximates the weight gradient in all its modes. "" if there is none.
std::string stand_in_method(const Catalogue& catalogue);

// What is said in its place: rules do not tell what it is.
inline constexpr const char* kMethodOfTheRun = "the method of the run";

// What is drawn of which training.
struct PictureExtent {
  int64_t steps = 8;                                  // from the first on
  int64_t steps_per_epoch = 100, total_steps = 1000;  // for rules that begin or end
  int64_t ranks = 1, rank = 0;                        // of the training, and which of them is drawn
};

// Columns layer_index, layer, step, method ("" where all products that are computed are exact; else
// the methods).
// `method` is the run's, "" where there is no run. Throws Error(kUsage) as Schedule does.
Table schedule_picture(const std::vector<Rule>& rules, const std::string& network,
                       const std::string& method, const Catalogue& catalogue,
                       const PictureExtent& extent);

}  // namespace approx
