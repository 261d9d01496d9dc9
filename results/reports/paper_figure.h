// An item of a paper as it is shown: its table, and what its figure is drawn from.
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

// `name`: of the item ("wang2019:table5") or of a file. `scale`: "" for the one at which most was
// measured. `options` have a catalogue. Throws as load_layout and report_paper do, Error(kUsage)
// for an unknown scale.
PaperItem paper_item(const Snapshot& snapshot, const std::string& name, const std::string& scale,
                     const ReportOptions& options);

// What a figure is drawn from: the CSV of the table by plots/SCRIPT.gp.
struct Drawing {
  std::string script;  // "" where there is nothing to draw
  Table table;

  bool empty() const { return script.empty() || table.rows.empty(); }
};

// The figure of an item: of schedules a panel for each that it shows.
Drawing paper_drawing(const Snapshot& snapshot, const PaperItem& item,
                      const ReportOptions& options);

// One schedule of an item that is a picture, layer by step.
Drawing picture_drawing(const PictureItem& picture, const LabelledSchedule& schedule,
                        const Catalogue& catalogue);

}  // namespace approx
