// The rows and columns of a paper's table, and which runs stand where.
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
  // numbers; `shown`: the same at the scale to show. Both must outlive it.
  PaperGrid(const Experiment& layout, const Experiment& shown);

  const Experiment& layout() const { return layout_; }
  const Experiment& shown() const { return shown_; }

  // Their labels in the order of the file; one that is "" where the table has none.
  const std::vector<std::string>& rows() const { return rows_; }
  const std::vector<std::string>& columns() const { return columns_; }

  // What the paper prints there; nothing where its list is shorter.
  static ReportedNumber reported(const ReportedValue& value, Place at);

  // Whether a cell of the store or a run that is planned has the labels of a place.
  template <typename C>
  bool stands(const C& cell, Place at) const;

  // The first run that is planned there, at full scale and at the scale shown; nullptr without one.
  const PlannedRun* planned_in_full(Place at) const { return planned(layout_, at); }
  const PlannedRun* planned_as_shown(Place at) const { return planned(shown_, at); }

  // The scale of what is measured there: a smaller one may leave some runs as the paper has them.
  Scale scale_at(Place at) const;

  // Where the exact training stands that a cell is compared with: in the same row or column if
  // networks or data sets are told apart there, else the first of the table. A row without one of
  // its own has that of another row with its network and data.
  std::optional<Place> baseline(Place at) const;

 private:
  const PlannedRun* planned(const Experiment& experiment, Place at) const;

  const Experiment& layout_;
  const Experiment& shown_;
  const std::vector<std::string> rows_, columns_;
};

}  // namespace approx
