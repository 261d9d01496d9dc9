// The learning rate of each arm, chosen before anything is compared: every candidate is tried by
// seeds that no evaluation uses, and judged on held-out images. An arm is what differs in anything
// but seed and purpose.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/experiment.h"

namespace approx {

// What stands behind the id of what is tuned, in that of its tuning runs.
inline constexpr const char* kTuneSuffix = ":tune";

// The runs that tune `experiment`, as an experiment of its own, "ID:tune": accuracy runs of every
// arm at every candidate with every tuning seed, split = "holdout". `experiment.tuning` must be
// there.
Experiment tuning_runs(const Experiment& experiment, const Catalogue& catalogue,
                       const std::function<std::string(const std::string&)>& checksum);

// Why a run of an arm that was not tuned is left out.
inline constexpr const char* kNotTuned = "its learning rate is not tuned yet: sweep --tune first";

// What one candidate reached: the share of held-out images at the end of each of its runs, those
// that diverged counted as none.
struct Candidate {
  double learning_rate = 0;
  double accuracy = 0;  // mean over the seeds
  int64_t seeds = 0;
};

// The held-out accuracy at the end of a finished run of that key; 0 where it diverged, nothing
// where it has not ended.
using HeldOutAccuracy = std::function<std::optional<double>(const std::string& key)>;

// Gives every run of `experiment` the rate that was best for its arm, of two alike the lower one,
// and the key that follows. Runs of arms that lack a tuning run are excluded, with the reason.
// Returns a line for each arm: which rate it has, how good it and the next best were, and whether
// it is the lowest or highest candidate, beyond which a better one may lie. An experiment without
// tuning is left as it is.
std::vector<std::string> take_tuned_rates(
    Experiment& experiment, const HeldOutAccuracy& accuracy, const Catalogue& catalogue,
    const std::function<std::string(const std::string&)>& checksum);

}  // namespace approx
