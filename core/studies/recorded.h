// Records the gradients of a network after a few steps of training, for the studies about
// gradients.
#pragma once

#include <utility>
#include <vector>

#include "core/studies/study.h"

namespace approx {

// The parameters that recorded_layers() reads.
void declare_training(StudyEntry& entry);

// The operands of every layer that has a gradient, in the batch after `steps` dense steps.
std::vector<std::pair<LayerInfo, Operands>> recorded_layers(const StudyRequest& request);

}  // namespace approx
