// What all reports can be asked for.
#pragma once

#include <optional>
#include <string>

#include "core/config/catalogue.h"
#include "core/experiment/experiment.h"
#include "results/rows/margin.h"

namespace approx {

inline constexpr Margin kUsualMargin = 0.5;  // points

struct ReportOptions {
  std::string experiment;        // its name, "@" in front allowed; "": everything in the store
  bool include_tainted = false;  // timing runs that were disturbed or shared the machine, too
  // The share to reach, in place of the experiment's target. Without either it is the median of the
  // dense runs' best accuracies less the margin; report_table then has no time to a target.
  std::optional<double> target;
  // What a method may lose (report_advice, report_compare, and all that choose a target of their
  // own). None: what each has of its own, report_advice a share of the dense error, the others
  // kUsualMargin.
  std::optional<Margin> margin;
  // Knows the layers: their order, which is by name without it (report_layers, report_traffic), and
  // which of them read the images and have no data gradient, whose work older runs counted all the
  // same.
  const Catalogue* catalogue = nullptr;
  // In place of an experiment the planned runs of an item, whatever experiment asked for them.
  const Experiment* item = nullptr;
};

}  // namespace approx
