// The trials of learning rates that a store has (core/experiment/tuning.h).
#pragma once

#include <map>
#include <string>
#include <vector>

#include "core/config/run_config.h"
#include "core/experiment/tuning.h"
#include "results/records/snapshot.h"

namespace approx {

// The trials of one arm that have one length.
struct TrialsOfLength {
  double epochs = 0;
  Trials trials;
};

// By arm_name(), the longest first.
using ArmTrials = std::map<std::string, std::vector<TrialsOfLength>>;

// The trials of all experiments that tune another ("ID:tune"). As in the search for a rate, a rate
// counts that was tried with as many seeds as any other of its length. Throws Error(kDatabase).
ArmTrials read_trials(const Snapshot& snapshot);

// Why the learning rate of a tuned training is not enclosed, in the words of why_open(). It is "no
// other was tried for it" where the store has no trial of its arm; "" where it is enclosed. If
// there are trials of several lengths, the longest count that have its rate and are no longer than
// the training.
std::string why_rate_open(const RunConfig& config, const ArmTrials& trials);

}  // namespace approx
