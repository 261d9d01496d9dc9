// Controls that a method must beat before its speedup means anything: the exact training made as
// short as the method is fast, and a smaller network trained exactly.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

struct Controls {
  bool iso_time = false;
  std::string smaller_net;  // a network, "" for none
};

// "iso-time", "smaller-net=NETWORK", or both with a comma between. Throws Error(kUsage).
Controls parse_controls(const std::string& text);

// Adds the controls of `experiment` to its runs, each an exact accuracy run with the seeds of the
// rows that it controls. A row's dense control in the same time is `epochs / speedup` long, by the
// speedups of timing runs; rows that are not faster have none. Returns a line for each row that got
// no control, and why.
std::vector<std::string> add_controls(
    Experiment& experiment, const Controls& controls, const std::map<LabelKey, double>& speedups,
    const Catalogue& catalogue, const std::function<std::string(const std::string&)>& checksum);

}  // namespace approx
