// What all reports can be asked for.
#pragma once

#include <optional>
#include <string>

#include "core/config/catalogue.h"

namespace approx {

struct ReportOptions {
  std::string experiment;        // its name, "@" in front allowed; "": everything in the store
  bool include_tainted = false;  // timing runs that were disturbed or shared the machine, too
  // report_tta, report_profile: the share to reach, in place of the experiment's target. Without
  // either it is the median of the dense runs' best accuracies less `margin`.
  std::optional<double> target;
  double margin = 0.5;  // points that a method may lose (report_pareto, report_advice, report_tta)
  // report_layers: knows the order of the layers, which is by name without it.
  const Catalogue* catalogue = nullptr;
};

}  // namespace approx
