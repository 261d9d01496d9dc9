// What a store has of the cells of a paper's table.
#pragma once

#include <string>
#include <vector>

#include "results/papers/grid.h"
#include "results/papers/judge.h"
#include "results/rows/rows.h"

namespace approx {

// Whether a count is of the layers alone that are approximated, which exact training has none of.
bool is_of_approximated(const ReportedValue& value);

class PaperCells {
 public:
  // `grid` must outlive it; `contents`: those of the item (read_item_contents) at the scale that it
  // shows.
  PaperCells(const PaperGrid& grid, Contents contents, bool include_tainted)
      : grid_(grid), set_(std::move(contents), include_tainted) {}

  // The row of the store that stands there: one that is planned before others, of several the one
  // with most results of `purpose`, as an item may time other numbers of ranks than it trains.
  // nullptr without one.
  const Row* find(Place at, Purpose purpose = Purpose::kAccuracy) const;

  // Why a row is not the item's: what differs from what the scale shown plans there; "" if nothing
  // does.
  std::string other_settings(const Row& row, Place at) const;

  // Ours of a quantity there, or why there is none.
  Measured measure(const ReportedValue& value, Place at) const;

  // A line for each group of cells of the store that are not looked at.
  const std::vector<std::string>& excluded() const { return set_.contents().excluded; }

 private:
  bool as_planned(const Row& row, Place at) const;
  // Whether what was written anew of the data of its runs is what the paper's own loader writes.
  bool encoded_as_in_the_paper(const Row& row) const;
  Measured measure(const ReportedValue& value, const Row& row, Place at) const;
  Measured loss(const Row& row, Place at, bool best) const;
  Measured estimate(const ReportedValue& value, const Row& row) const;
  const Row* row_labelled(const std::string& label) const;
  std::string why_none(const ReportedValue& value, Place at) const;

  const PaperGrid& grid_;
  const RowSet set_;
};

}  // namespace approx
