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

int64_t iso_time_hundredths(double speedup) {
  return std::clamp<int64_t>(static_cast<int64_t>(std::floor(100 / speedup + 1e-9)), 1, 99);
}

Recipe shortened(const Recipe& recipe, int64_t hundredths) {
  // In hundredths of an epoch, of which a last epoch may have parts too.
  const double length =
      std::floor(static_cast<double>(hundredths) * length_in_epochs(recipe) + 1e-9);
  const auto parts = std::max<int64_t>(1, static_cast<int64_t>(length));
  Recipe wanted;
  wanted.epochs = (parts + 99) / 100;
  wanted.last_epoch = static_cast<double>(parts - 100 * (wanted.epochs - 1)) / 100;
  return shortened_like(recipe, wanted);
}

Recipe shortened_like(const Recipe& recipe, const Recipe& length) {
  Recipe shorter = recipe;
  const int64_t epochs = length.epochs;
  const double factor = length_in_epochs(length) / length_in_epochs(recipe);
  shorter.epochs = epochs;
  shorter.last_epoch = length.last_epoch;
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
