// The cells of a store with their attempts, as the reports count them.
#pragma once

#include <string>
#include <vector>

#include "results/records/contents.h"
#include "results/records/items.h"

namespace approx {

// Which cells are read: those of an experiment ("": of all), and the members of an item beside
// them, null where there is none.
struct CellChoice {
  std::string experiment;
  const Experiment* item = nullptr;
  const Members* members = nullptr;
  const Catalogue* catalogue = nullptr;  // knows the versions of methods that count; may be null
};

struct StoredCells {
  std::vector<Cell> cells;            // in the order of their experiments' files
  std::vector<std::string> left_out;  // a line for each method of which earlier runs are not there
};

// Reads them. Of cells that differ in nothing but a version of the method, the network, the data or
// the kernel rules the newest one counts alone: what an earlier one measured is no further seed.
// What stands under a label that means something else now has "(earlier)" behind it. Throws
// Error(kDatabase).
// Equal runs count once however they were spelt when they were stored: settings are as
// settings_of() and schedules as schedule_text() have them.
StoredCells read_cells(const Snapshot& snapshot, const CellChoice& choice);

}  // namespace approx
