// Learning-rate schedules: functions of the step alone, so that they have no state to save.
#pragma once

#include <cstdint>

#include "core/config/recipe.h"

namespace approx {

// The learning rate of `step` (from 0), with e the epoch (from 0), s = step / all steps and lr the
// recipe's:
//   constant     lr
//   exponential  lr * decay^e
//   step         lr * decay^floor(e / decay_epochs)
//   milestones   lr * decay^(number of milestones <= e)
//   cosine       from lr at s = 0 to 0 at s = 1 along half a cosine
//   onecycle     linear from lr / 25 to lr at s = warmup, then half a cosine to lr / 1e4
//   triangular   linear from 0 to lr at the start of peak_epoch, then linear to 0 at s = 1; a run
//                that ends before its peak_epoch only rises
//   points       lr * the factor of rate_points at s, linear between the points
// Each is multiplied by (step + 1) / (steps of warmup_epochs) while that is below 1. Timing runs
// may take more steps than the recipe has. Later steps have the rate of its last step.
double learning_rate(const Recipe& recipe, int64_t step, int64_t steps_per_epoch);

}  // namespace approx
