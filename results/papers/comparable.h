// Whether a run of ours was made in the way that a paper made its own, as the item's file at full
// scale says: without that, a loss against dense is that of another experiment.
#pragma once

#include <string>

#include "core/experiment/experiment.h"

namespace approx {

// What a run approximates: "method=zero, not topk_position:k=1"; "" where network, method and
// schedule agree.
std::string other_method(const RunConfig& ours, const RunConfig& paper);

// What decides a loss: the above, the optimizer with its settings, and the length of the training.
// "optimizer=sgd, not adam; epochs=4, not 500"; "" where all agree. The learning rate is not in it:
// papers tune it or leave it out, and so do we.
std::string other_training(const RunConfig& ours, const RunConfig& paper);

// What the file itself says of a run at full scale that the paper's runs had otherwise ([[report.
// departs]]); "" without such a remark.
std::string stated_departure(const ItemReport& item, const PlannedRun& full);

}  // namespace approx
