#include "core/data/demands.h"

#include "base/error.h"
#include "core/data/image_sizes.h"

namespace approx {

TrainingParts training_parts(const RunConfig& config, const DatasetOutline& dataset) {
  const int64_t count = dataset.shape.n_train;
  TrainingParts parts;
  if (config.split == SplitKind::kHoldout) parts.held_out = count >= 50000 ? 5000 : count / 10;
  parts.trained_on = count - parts.held_out;
  if (config.train_examples > parts.trained_on) {
    throw usage_error("train_examples = {}: {} has {} training images left beside the {} held out",
                      config.train_examples, dataset.name, parts.trained_on, parts.held_out);
  }
  if (config.train_examples > 0) parts.trained_on = config.train_examples;
  if (parts.trained_on < 1) throw usage_error("{} has no training images left", dataset.name);
  return parts;
}

void check_demands(const RunConfig& config, const DatasetOutline& dataset,
                   const NetworkInfo& network) {
  training_parts(config, dataset);
  network.check_side(image_sizes(config.recipe, dataset).height);
}

}  // namespace approx
