#include "core/experiment/iso_time.h"

#include <algorithm>
#include <cmath>

namespace approx {
namespace {

int64_t scaled(int64_t epochs, double factor) {
  return std::llround(static_cast<double>(epochs) * factor);
}

}  // namespace

bool is_prefix_of_longer(const Recipe& recipe) {
  return recipe.lr_schedule == RateSchedule::kConstant && recipe.warmup_epochs == 0 &&
         recipe.start_size == 0;
}

int64_t iso_time_epochs(int64_t epochs, double speedup) {
  const double rounded = std::floor(static_cast<double>(epochs) / speedup + 0.5);
  return std::max<int64_t>(1, static_cast<int64_t>(rounded));
}

Recipe shortened(const Recipe& recipe, int64_t epochs) {
  Recipe shorter = recipe;
  const double factor = static_cast<double>(epochs) / static_cast<double>(recipe.epochs);
  shorter.epochs = epochs;
  shorter.eval_every = std::clamp<int64_t>(recipe.eval_every, 1, epochs);
  if (recipe.lr_schedule == RateSchedule::kExponential)
    shorter.decay = std::pow(recipe.decay, 1 / factor);
  if (recipe.lr_schedule == RateSchedule::kStep) {
    shorter.decay_epochs = std::max<int64_t>(1, scaled(recipe.decay_epochs, factor));
  }
  if (recipe.lr_schedule == RateSchedule::kMilestones) {
    int64_t last = 0;
    for (auto& milestone : shorter.milestones) {
      milestone = last = std::max(last + 1, scaled(milestone, factor));
    }
  }
  if (recipe.lr_schedule == RateSchedule::kTriangular) {
    shorter.peak_epoch = std::clamp<int64_t>(scaled(recipe.peak_epoch, factor), 1, epochs);
  }
  shorter.warmup_epochs = scaled(recipe.warmup_epochs, factor);
  shorter.grow_from = scaled(recipe.grow_from, factor);
  shorter.grow_until = scaled(recipe.grow_until, factor);
  return shorter;
}

}  // namespace approx
