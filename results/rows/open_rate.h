// Whether the learning rates are enclosed with which a row is compared to exact training.
#pragma once

#include <string>

#include "results/records/trials.h"
#include "results/rows/rows.h"

namespace approx {

// Why a learning rate of a row's trainings is not enclosed, in the words of why_rate_open(). It is
// "" if all are enclosed, or if the rate was given and not tuned.
std::string why_row_rate_open(const Row& row, const ArmTrials& trials);

// Why the accuracy of a row does not show what its method loses: "its learning rate is not
// enclosed: 0.4 is the highest that was tried". The reason may also be of its exact training. ""
// where both rates are enclosed, or were given and not tuned.
std::string rate_obstacle(const Row& row, const ArmTrials& trials);

}  // namespace approx
