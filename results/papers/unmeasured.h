// Items of papers that nothing is measured for.
#pragma once

#include "core/experiment/experiment.h"
#include "results/render/table.h"

namespace approx {

// A picture of a schedule: its rules.
Table paper_picture_table(const Experiment& layout, const PictureItem& picture);

// What nothing of ours computes yet: what the paper prints, and why.
Table paper_not_run_table(const Experiment& layout, const NotRunItem& item);

}  // namespace approx
