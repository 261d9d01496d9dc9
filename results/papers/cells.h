// Finds and measures the cells of a paper's table in a store.
#pragma once

#include <string>
#include <vector>

#include "results/papers/grid.h"
#include "results/papers/judge.h"
#include "results/rows/rows.h"

namespace approx {

// Whether a quantity counts only the approximated layers. Exact training has none.
bool is_of_approximated(const ReportedValue& value);

class PaperCells {
 public:
  // `grid` must outlive the object. `contents` are those of the item (read_item_contents) at the
  // scale that the grid shows.
  PaperCells(const PaperGrid& grid, Contents contents, bool include_tainted)
      : grid_(grid), set_(std::move(contents), include_tainted) {}

  // The stored row at a place. A planned row comes first, then the row with most results of
  // `purpose`: an item may time other numbers of ranks than it trains. Null without one.
  const Row* find(Place at, Purpose purpose = Purpose::kAccuracy) const;

  // Why a row is not the item's: its differences from the plan at the scale shown; "" if there are
  // none.
  std::string other_settings(const Row& row, Place at) const;

  // Our value of a quantity at a place, or why there is none.
  Measured measure(const ReportedValue& value, Place at) const;

  // A line for each group of stored cells that are not considered.
  const std::vector<std::string>& excluded() const { return set_.contents().excluded; }

 private:
  bool as_planned(const Row& row, Place at) const;
  // Whether the data of the row's runs was encoded as the paper's own loader encodes it.
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
