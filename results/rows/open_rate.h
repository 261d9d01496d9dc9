// Whether the learning rates are known by which a row is compared with exact training.
#pragma once

#include <string>

#include "results/records/trials.h"
#include "results/rows/rows.h"

namespace approx {

// Why no accuracy of a row says what its method loses: "its learning rate is not enclosed: 0.4 is
// the highest that was tried", or the same of its exact training. "" where the rates are enclosed,
// or were given and not tuned.
std::string rate_obstacle(const Row& row, const ArmTrials& trials);

}  // namespace approx
