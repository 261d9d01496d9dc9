// A table or figure of a paper in the paper's layout, each number that it prints beside ours.
#pragma once

#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"

namespace approx {

struct PaperOptions {
  bool include_tainted = false;
  // Recognizes runs on any number of threads where the item leaves them to the machine; and as in
  // ReportOptions.
  const Catalogue* catalogue = nullptr;
};

// `layout`: the item at full scale, which names its rows and columns and holds the paper's numbers;
// `shown`: the same at the scale to show, both loaded with the checksums of the store, by which its
// runs are found. One row for each (row, column, quantity); for people a table in the paper's
// layout. Throws Error(kDatabase) for numbers that nothing measures.
Table report_paper(const Snapshot& snapshot, const Experiment& layout, const Experiment& shown,
                   const PaperOptions& options = {});

}  // namespace approx
