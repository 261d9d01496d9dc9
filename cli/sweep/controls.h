// Controls that a method must beat before its speedup means anything: the exact training made as
// short as the method is fast, a choice at random of the same density, and a smaller network
// trained exactly.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"
#include "results/rows/stored_rows.h"

namespace approx {

struct Controls {
  bool iso_time = false;
  bool random = false;
  std::string smaller_net;  // a network, "" for none

  bool any() const { return iso_time || random || !smaller_net.empty(); }

  // Controls that are rows of their own, whose learning rates are tuned like those of other rows.
  Controls own_rows() const { return {.random = random, .smaller_net = smaller_net}; }
  // The exact training in the same time, which has the learning rate of the exact row.
  Controls by_exact_rows() const { return {.iso_time = iso_time}; }
};

// "iso-time", "random", "smaller-net=NETWORK", or several with commas between. Throws
// Error(kUsage).
Controls parse_controls(const std::string& text);

// The method that keeps as much as another and chooses it at random.
struct RandomTwin {
  std::string method;    // full text, "" where there is none
  std::string why_none;  // then
};

// `density`: what runs of the method kept, where that was measured; needed where it follows from
// the data and not from the parameters. No twin where its ratio would be 0, which says to it to go
// by a `k` of its own.
RandomTwin random_twin(const std::string& method, std::optional<double> density,
                       const Catalogue& catalogue);

// Adds the controls of `experiment` to its runs, with the seeds of the rows that they control. A
// row's dense control in the same time is an accuracy run `epochs / speedup` long or a step longer,
// by the least that timing runs allow the speedup to be, with the learning rate of the exact row;
// rows that may not be faster have none, nor have those under a constant learning rate, whose
// control the dense runs contain. A row's random twin is a row of the same purposes and schedule;
// rows whose rules choose by methods of their own have none. Controls have no controls. Returns a
// line for each row that got no control, and why.
std::vector<std::string> add_controls(
    Experiment& experiment, const Controls& controls, const StoredRows& stored,
    const Catalogue& catalogue, const std::function<std::string(const std::string&)>& checksum);

}  // namespace approx
