// What a run asks of its data set, held against what that has before the run is begun.
#pragma once

#include <cstdint>

#include "core/config/catalogue.h"
#include "core/config/run_config.h"
#include "core/data/dataset.h"

namespace approx {

// How the images of the training part are divided: so many judge, so many of the others are
// trained on.
struct TrainingParts {
  int64_t held_out = 0, trained_on = 0;
};

// Of split = holdout 5,000 images are held out, of fewer than 50,000 a tenth. Throws Error(kUsage)
// where `config` asks to train on more images than are left beside them, or none are.
TrainingParts training_parts(const RunConfig& config, const DatasetOutline& dataset);

// Steps of the training that its recipe asks for. Throws as training_parts does.
struct TrainingSteps {
  int64_t per_epoch = 0, total = 0;
};
TrainingSteps training_steps(const RunConfig& config, const DatasetOutline& dataset);

// Throws Error(kUsage) for the first thing that a run of `config` asks of `dataset` in vain: more
// images than it has, sizes or crops that its images do not come in (core/data/image_sizes.h),
// images as large as `network`, that of the run, needs them, a training so long that a rule of its
// schedule comes to hold. What depends on the network's parameters is found out where it is built.
void check_demands(const RunConfig& config, const DatasetOutline& dataset,
                   const NetworkInfo& network);

}  // namespace approx
