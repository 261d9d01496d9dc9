// How a network is trained: the settings of a recipe, and the words for settings that are choices.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/enum_text.h"
#include "base/params.h"
#include "core/config/rate_points.h"

namespace approx {

// The update rule (core/train/optimizer.h).
enum class UpdateRule { kSgd, kAdam };

constexpr auto enum_texts(UpdateRule) {
  return std::to_array<EnumText<UpdateRule>>(
      {{UpdateRule::kSgd, "sgd"}, {UpdateRule::kAdam, "adam"}});
}

// How convolutions are initialised. kFanOut: normal with variance 2 / (output channels x kernel
// area), biases zero. That is He et al. 2015 over the fan out, as torchvision's ResNets do it.
// kPytorch: weights and biases uniform within 1 / sqrt(input channels of a group x kernel area), as
// torch.nn.Conv2d draws them.
enum class WeightStart { kFanOut, kPytorch };

constexpr auto enum_texts(WeightStart) {
  return std::to_array<EnumText<WeightStart>>(
      {{WeightStart::kFanOut, "fan_out"}, {WeightStart::kPytorch, "pytorch"}});
}

// The meaning of `weight_decay` = d. kGradient: d w is added to the gradient, so that a step decays
// a weight by d times the learning rate of the step. kPerStep: (d / p) w is added, where p is the
// weight's learning rate at the recipe's peak. A step at the peak then decays by d whatever the
// rate is. Both scale with the learning rate and pass through the momentum.
enum class DecayForm { kGradient, kPerStep };

constexpr auto enum_texts(DecayForm) {
  return std::to_array<EnumText<DecayForm>>(
      {{DecayForm::kGradient, "gradient"}, {DecayForm::kPerStep, "per_step"}});
}

// The course of the learning rate. core/train/learning_rate.h defines each.
enum class RateSchedule {
  kConstant,
  kExponential,
  kStep,
  kMilestones,
  kCosine,
  kOneCycle,
  kTriangular,
  kPoints
};

constexpr auto enum_texts(RateSchedule) {
  return std::to_array<EnumText<RateSchedule>>({{RateSchedule::kConstant, "constant"},
                                                {RateSchedule::kExponential, "exponential"},
                                                {RateSchedule::kStep, "step"},
                                                {RateSchedule::kMilestones, "milestones"},
                                                {RateSchedule::kCosine, "cosine"},
                                                {RateSchedule::kOneCycle, "onecycle"},
                                                {RateSchedule::kTriangular, "triangular"},
                                                {RateSchedule::kPoints, "points"}});
}

// The pixels that a random crop finds outside of the image.
enum class PaddingMode { kZero, kReflect };

constexpr auto enum_texts(PaddingMode) {
  return std::to_array<EnumText<PaddingMode>>(
      {{PaddingMode::kZero, "zero"}, {PaddingMode::kReflect, "reflect"}});
}

// When an image is mirrored. kIndependent: with probability 1/2, drawn in each epoch. kAlternating:
// in every second epoch; whether an image begins mirrored is drawn once.
enum class FlipOrder { kIndependent, kAlternating };

constexpr auto enum_texts(FlipOrder) {
  return std::to_array<EnumText<FlipOrder>>(
      {{FlipOrder::kIndependent, "independent"}, {FlipOrder::kAlternating, "alternating"}});
}

// How a training image is cut. kPadded: photographs are cut out of their middle, as in evaluation.
enum class CropKind { kPadded, kRandomResized };

constexpr auto enum_texts(CropKind) {
  return std::to_array<EnumText<CropKind>>(
      {{CropKind::kPadded, "padded"}, {CropKind::kRandomResized, "random_resized"}});
}

inline constexpr double kMostLearningRate = 1000;

// How a network is trained: data, read from experiments/recipes/*.toml. Defaults are the values of
// missing keys.
struct Recipe {
  WeightStart init = WeightStart::kFanOut;
  UpdateRule optimizer = UpdateRule::kSgd;
  double learning_rate = 0.1;                   // > 0, the peak of the schedule
  double momentum = 0.9;                        // sgd
  bool nesterov = false;                        // sgd
  double weight_decay = 0;                      // L2, as LibTorch's optimizers define it
  bool decay_norm = true;                       // false: not for biases and the scales of norms
  DecayForm decay_form = DecayForm::kGradient;  // sgd
  int64_t first_bias_epochs = 0;      // epochs in which the first convolution's bias trains, 0: all
  double norm_bias_rate = 1;          // learning rate of norms' biases, in that of the others
  int64_t ghost_batch = 0;            // images that a norm takes statistics over, 0: the batch
  double beta1 = 0.9, beta2 = 0.999;  // adam
  double epsilon = 1e-8;              // adam
  double clip_norm = 0;               // largest norm of the whole gradient, 0: no limit
  double ema = 0;                     // decay of the averaged weights in each step, 0: no average
  int64_t lookahead_every = 0;        // steps between returns to the slow weights, 0: none
  double lookahead_decay = 0.95;      // decay of the slow weights in a step

  RateSchedule lr_schedule = RateSchedule::kConstant;
  double decay = 1;                    // exponential, step, milestones
  int64_t decay_epochs = 1;            // step
  std::vector<int64_t> milestones;     // milestones: rising epochs from 0, as text "60,120"
  int64_t peak_epoch = 0;              // triangular
  double warmup = 0.3;                 // onecycle: share of all steps
  int64_t warmup_epochs = 0;           // all schedules: epochs of a linear rise from 0
  std::vector<RatePoint> rate_points;  // points: corners of the schedule

  int64_t epochs = 1;
  double last_epoch = 1;   // share of the last epoch's steps that are done
  int64_t eval_every = 1;  // in epochs; the last epoch is always evaluated
  double label_smoothing = 0;

  // Augmentation (core/train/batches.h).
  int64_t crop_padding = 0;  // random crop out of an image padded by this on each side
  PaddingMode padding_mode = PaddingMode::kZero;
  bool flip = false;  // horizontal, with probability 1/2
  FlipOrder flip_order = FlipOrder::kIndependent;
  int64_t cutout = 0;  // side of the square set to the mean, 0: none
  // Photographs (core/data/image_sizes.h, core/data/photo_view.h).
  CropKind crop = CropKind::kPadded;
  double crop_scale_min = 0.08, crop_scale_max = 1;  // random_resized: share of the image's area
  double crop_ratio_min = 0.75;                      // random_resized: w to h, up to the inverse
  int64_t image_size = 0;                            // side in training, 0: the data set's own
  int64_t eval_size = 0;                             // side in evaluation, 0: as in training
  // All images: side in the first epochs, 0: the final one. It grows between these two epochs.
  int64_t start_size = 0;
  int64_t grow_from = 0, grow_until = 0;

  // Evaluation.
  bool test_flip = false;  // average the logits of an image and of its mirror image
  // If not 0: also average over two crops, shifted by so many pixels down and right, up and left.
  int64_t test_shift = 0;
  // Training images over which batch norms take new statistics before evaluation; 0: keep those of
  // training.
  int64_t norm_examples = 0;

  bool operator==(const Recipe&) const = default;
};

// The length of the training in passes over the training part; the last epoch may be partial.
double length_in_epochs(const Recipe& recipe);

// The steps of an epoch over `images` images: whole batches only, and at least one.
int64_t steps_per_epoch(int64_t images, int64_t batch_size);

// The steps of the whole training: whole steps only, and at least one in the last epoch.
int64_t total_steps(const Recipe& recipe, int64_t steps_per_epoch);

// The parts of the recipe that lie behind the end of the training, one line each. "milestones
// 60,120: the training ends after 8 epochs, before the learning rate falls there". Such a recipe is
// valid, but rarely intended.
std::vector<std::string> beyond_the_end(const Recipe& recipe);

// The declarations of the settings: names, defaults, ranges, help.
std::vector<ParamSpec> recipe_specs();

// Throws Error(kUsage) if settings contradict each other.
void check(const Recipe& recipe);

// Whether a setting has an effect beside the others: momentum has none under Adam. A setting
// without effect is in no run key, and reports treat it as its default.
bool takes_part(const Recipe& recipe, std::string_view setting);

// A setting that has no effect and is not at its default, as texts.
struct IdleSetting {
  std::string name, value;
  std::string why;  // the setting that turns it off: "lr_schedule = constant"

  auto operator<=>(const IdleSetting&) const = default;
};

// The idle settings of a recipe, in the order of their declarations.
std::vector<IdleSetting> idle_settings(const Recipe& recipe);

// One recipe for all recipes that train alike: settings without effect are at their defaults.
Recipe canonical(const Recipe& recipe);

// Reading keeps the values of keys that the text omits. It throws Error(kUsage) for an unknown key,
// a wrong type or a value out of range.
void to_json(Json& json, const Recipe& recipe);
void from_json(const Json& json, Recipe& recipe);

// Every setting by name, also settings at their defaults.
Json every_setting(const Recipe& recipe);

}  // namespace approx
