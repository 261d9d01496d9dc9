// A paper's item as it is shown: its table, and the data of its figure.
#pragma once

#include <string>

#include "core/config/catalogue.h"
#include "core/experiment/experiment.h"
#include "results/records/snapshot.h"
#include "results/render/table.h"
#include "results/rows/options.h"

namespace approx {

struct PaperItem {
  Experiment layout;  // at full scale
  Experiment shown;   // at the scale that is shown
  Table table;
};

// Loads an item and makes its table. `name` is that of an item ("wang2019:table5") or of a file.
// `scale` "" takes the scale with most results. `options` must have a catalogue. Throws as
// load_layout and report_paper do, and Error(kUsage) for an unknown scale.
PaperItem paper_item(const Snapshot& snapshot, const std::string& name, const std::string& scale,
                     const ReportOptions& options);

// The data of a figure: a table that plots/SCRIPT.gp draws as CSV.
struct Drawing {
  std::string script;  // "" where there is nothing to draw
  Table table;

  bool empty() const { return script.empty() || table.rows.empty(); }
};

// The figure of an item. An item of schedules has a panel for each schedule that it shows.
Drawing paper_drawing(const Snapshot& snapshot, const PaperItem& item,
                      const ReportOptions& options);

// A picture of one schedule of an item, layer by step.
Drawing picture_drawing(const PictureItem& picture, const LabelledSchedule& schedule,
                        const Catalogue& catalogue);

}  // namespace approx
