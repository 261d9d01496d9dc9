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
         recipe.start_size == 0 && recipe.lookahead_every == 0 && recipe.first_bias_epochs == 0;
}

Recipe shortened(const Recipe& recipe, double share, int64_t steps_per_epoch) {
  const double epochs = share * length_in_epochs(recipe);
  // A share in decimals, as 0.9 of 6 epochs, may be a little more than the length that it means.
  const double steps = epochs * static_cast<double>(steps_per_epoch) - 1e-6;
  const auto of_length = [&](int64_t hundredths) {
    Recipe length;
    length.epochs = (hundredths + 99) / 100;
    length.last_epoch = static_cast<double>(hundredths - 100 * (length.epochs - 1)) / 100;
    return length;
  };
  auto hundredths = std::max<int64_t>(1, std::llround(std::ceil(100 * epochs - 1e-6)));
  while (static_cast<double>(total_steps(of_length(hundredths), steps_per_epoch)) < steps) {
    ++hundredths;
  }
  return shortened_like(recipe, of_length(hundredths));
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
    // 0 is the peak at the beginning, and stays it.
    const int64_t least = std::min<int64_t>(recipe.peak_epoch, 1);
    shorter.peak_epoch = std::clamp(scaled(recipe.peak_epoch, factor), least, epochs);
  }
  shorter.warmup_epochs = scaled(recipe.warmup_epochs, factor);
  // 0 is the whole training, and stays it.
  shorter.first_bias_epochs = std::max(std::min<int64_t>(recipe.first_bias_epochs, 1),
                                       scaled(recipe.first_bias_epochs, factor));
  shorter.grow_from = scaled(recipe.grow_from, factor);
  shorter.grow_until = scaled(recipe.grow_until, factor);
  return shorter;
}

}  // namespace approx
