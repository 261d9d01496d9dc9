// The quantities that a paper's table of trainings shows, and how people read them.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "results/papers/grid.h"
#include "results/papers/judge.h"

namespace approx {

struct ShownValue {
  ReportedValue value;
  bool is_difference = false;  // from dense
  bool derived = false;        // not printed by the paper as such
};

// What the paper prints. An accuracy of it also says how much each method loses against dense,
// which can be judged on other data and at a smaller scale: that follows it, unless the paper
// prints losses of its own. Where it has both a speed and a saving of work, how much of the saving
// became time stands last.
std::vector<ShownValue> shown_values(const PaperGrid& grid);

// "90 %: best accuracy, %": the heading of a quantity in a column of the table.
std::string value_header(const PaperGrid& grid, const ShownValue& shown, size_t column);

// "91.20 ± 0.31 (n=6)", "1.09 [1.07, 1.11] (10 processes)".
std::string measured_text(const Measured& measured, const ReportedValue& value);

}  // namespace approx
