// Checks that a data set can serve a run, before the run begins.
#pragma once

#include <cstdint>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"
#include "core/data/dataset.h"

namespace approx {

// The sizes of the two parts of the training images: the held-out images judge, the others train.
struct TrainingParts {
  int64_t held_out = 0, trained_on = 0;
};

// split = holdout holds out 5,000 images, or a tenth if there are fewer than 50,000. Throws
// Error(kUsage) if `config` trains on more images than are not held out, or if all are held out.
TrainingParts training_parts(const RunConfig& config, const DatasetOutline& dataset);

// The steps of the training by its recipe. training_steps() throws as training_parts() does.
struct TrainingSteps {
  int64_t per_epoch = 0, total = 0;
};
TrainingSteps training_steps(const RunConfig& config, const DatasetOutline& dataset);

// Throws Error(kUsage) for the first demand of `config` that `dataset` cannot meet:
// - more images than it has;
// - sizes or crops that its images cannot have (core/data/image_sizes.h);
// - images as large as `network`, the network of the run, needs them;
// - a training that reaches the first step of an approximating rule.
// Demands that depend on the network's parameters are checked when the network is built.
void check_demands(const RunConfig& config, const DatasetOutline& dataset,
                   const NetworkInfo& network);

}  // namespace approx
