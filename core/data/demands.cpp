#include "core/data/demands.h"

#include <algorithm>

#include "base/error.h"
#include "core/config/dense.h"
#include "core/config/position.h"
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

TrainingSteps training_steps(const RunConfig& config, const DatasetOutline& dataset) {
  const int64_t images = training_parts(config, dataset).trained_on;
  const int64_t per_epoch = steps_per_epoch(images, config.batch_size);
  return {.per_epoch = per_epoch, .total = total_steps(config.recipe, per_epoch)};
}

namespace {

// Throws where every rule that approximates something begins behind the end. A timing makes as many
// steps as it needs.
void check_length(const RunConfig& config, const TrainingSteps& steps) {
  if (config.purpose == Purpose::kTiming) return;
  const auto [per_epoch, total] = steps;
  int64_t soonest = -1;
  for (const auto& rule : config.schedule) {
    if (is_dense(rule.method.empty() ? config.method : rule.method)) continue;
    const int64_t first = first_step(rule, per_epoch, total);
    if (first < total || first == kUnknownStep) return;
    soonest = soonest < 0 ? first : std::min(soonest, first);
  }
  if (soonest < 0) return;
  throw usage_error(
      "nothing would be approximated: the schedule begins with step {}, and the last one is {}",
      soonest, total - 1);
}

}  // namespace

void check_demands(const RunConfig& config, const DatasetOutline& dataset,
                   const NetworkInfo& network) {
  check_length(config, training_steps(config, dataset));
  network.check_side(image_sizes(config.recipe, dataset).height);
}

}  // namespace approx
