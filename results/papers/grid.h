// The rows and columns of a paper's table, and the runs of each place.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "results/records/contents.h"

namespace approx {

struct Place {
  size_t row = 0, column = 0;

  bool operator==(const Place&) const = default;
};

class PaperGrid {
 public:
  // `layout`: the item at full scale, which names its rows and columns and holds the paper's
  // numbers. `shown`: the item at the scale to show. Both must outlive the grid.
  PaperGrid(const Experiment& layout, const Experiment& shown);

  const Experiment& layout() const { return layout_; }
  const Experiment& shown() const { return shown_; }

  // Labels in the order of the file; a single "" where the table has no such labels.
  const std::vector<std::string>& rows() const { return rows_; }
  const std::vector<std::string>& columns() const { return columns_; }

  // The number that the paper prints at a place; nothing where its list is shorter.
  static ReportedNumber reported(const ReportedValue& value, Place at);

  // Whether a stored cell or a planned run has the labels of a place.
  template <typename C>
  bool stands(const C& cell, Place at) const;

  // The first planned run at a place, at full scale or at the scale shown; nullptr without one.
  const PlannedRun* planned_in_full(Place at) const { return planned(layout_, at); }
  const PlannedRun* planned_as_shown(Place at) const { return planned(shown_, at); }

  // The scale of the values measured at a place. At a smaller scale some runs may still be as in
  // the paper.
  Scale scale_at(Place at) const;

  // The place of the exact training that a cell is compared with. It is in the same row or column
  // if those separate networks or data sets, else the first one in the table. A row without exact
  // training takes that of another row with its network and data.
  std::optional<Place> baseline(Place at) const;

 private:
  const PlannedRun* planned(const Experiment& experiment, Place at) const;

  const Experiment& layout_;
  const Experiment& shown_;
  const std::vector<std::string> rows_, columns_;
};

}  // namespace approx
