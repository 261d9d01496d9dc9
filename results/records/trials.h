// The trials of learning rates that a store has (core/experiment/tuning.h).
#pragma once

#include <map>
#include <string>

#include "core/config/run_config.h"
#include "core/experiment/tuning.h"
#include "results/records/snapshot.h"

namespace approx {

// By arm_name().
using ArmTrials = std::map<std::string, Trials>;

// The trials of all experiments that tune another ("ID:tune"). Throws Error(kDatabase).
ArmTrials read_trials(const Snapshot& snapshot);

// Why the learning rate of a tuned training is not enclosed, in the words of why_open(). It is "no
// other was tried for it" where the store has no trial of its arm; "" where it is enclosed.
std::string why_rate_open(const RunConfig& config, const ArmTrials& trials);

}  // namespace approx
