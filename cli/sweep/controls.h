// Controls that a method must beat before its speedup means anything. They are exact training of
// the same time, a random choice of equal density, and a smaller network trained exactly.
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
  std::string smaller_net;  // a network; "": none

  bool any() const { return iso_time || random || !smaller_net.empty(); }

  // Controls that are rows of their own. Their learning rates are tuned as for other rows.
  Controls own_rows() const { return {.random = random, .smaller_net = smaller_net}; }
  // The exact training in the same time. It has the learning rate of the exact row.
  Controls by_exact_rows() const { return {.iso_time = iso_time}; }
};

// Reads "iso-time", "random", "smaller-net=NETWORK", or several separated by commas. Throws
// Error(kUsage).
Controls parse_controls(const std::string& text);

// The random twin of a method: it keeps as much as the method, chosen at random.
struct RandomTwin {
  std::string method;    // full text; "" where there is none
  std::string why_none;  // why there is none
};

// Finds the random twin of a method. `density` is the density that the method's runs kept, where it
// was measured. It is needed where the density follows from the data and not from the parameters.
// There is no twin if its ratio would be 0, which would make it use a `k` of its own.
RandomTwin random_twin(const std::string& method, std::optional<double> density,
                       const Catalogue& catalogue);

// Adds the controls of `experiment` to its runs, with the seeds of the rows that they control.
// Returns a line for each row without a control, with the reason. Controls have no controls.
// - Same time: an accuracy run of exact training, `epochs / speedup` long or a step longer, with
//   the learning rate of the exact row. The speedup is the lower end of its interval. Rows that may
//   not be faster have none. Under a constant learning rate rows have none either, since the dense
//   runs contain that control.
// - Random: a row of the random twin with the row's purposes and schedule. Rows whose rules choose
//   methods of their own have none.
std::vector<std::string> add_controls(
    Experiment& experiment, const Controls& controls, const StoredRows& stored,
    const Catalogue& catalogue, const std::function<std::string(const std::string&)>& checksum);

}  // namespace approx
