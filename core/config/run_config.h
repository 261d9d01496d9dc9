// One run, fully resolved: everything that decides its result, and nothing that does not.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"
#include "core/config/schedule.h"

namespace approx {

// Accuracy runs may share the machine; timing runs may not, and the two never mix in a column.
enum class Purpose { kAccuracy, kTiming };

std::string_view name(Purpose purpose);
Purpose parse_purpose(std::string_view text);  // throws Error(kUsage)

// How a network is trained: data, read from experiments/recipes/*.toml. Defaults are those of a
// missing key.
struct Recipe {
  // The update rule (core/train/optimizer.h).
  std::string optimizer = "sgd";      // sgd, adam
  double learning_rate = 0.1;         // > 0, the peak of the schedule
  double momentum = 0.9;              // sgd
  bool nesterov = false;              // sgd
  double weight_decay = 0;            // L2, as LibTorch's optimizers define it
  bool decay_norm = true;             // false: none for biases and the scales of norms
  double beta1 = 0.9, beta2 = 0.999;  // adam
  double epsilon = 1e-8;              // adam
  double clip_norm = 0;               // largest norm of the whole gradient, 0: any
  double ema = 0;                     // decay of the averaged weights a step, 0: no average

  // How the learning rate moves; each is defined in core/train/learning_rate.h.
  std::string lr_schedule = "constant";
  double decay = 1;                 // exponential, step, milestones
  int64_t decay_epochs = 1;         // step
  std::vector<int64_t> milestones;  // milestones: epochs counted from 0, rising; as text "60,120"
  int64_t peak_epoch = 0;           // triangular
  double warmup = 0.3;              // onecycle: share of all steps
  int64_t warmup_epochs = 0;        // any: epochs of a linear rise from 0

  int64_t epochs = 1;
  int64_t eval_every = 1;  // epochs; the last epoch is always evaluated
  double label_smoothing = 0;

  // Augmentation (core/train/batches.h).
  int64_t crop_padding = 0;           // random crop out of an image padded by this on each side
  std::string padding_mode = "zero";  // zero, reflect
  bool flip = false;                  // horizontal, probability 1/2
  int64_t cutout = 0;                 // side of the square set to the mean, 0: none
  // Photographs (core/data/image_sizes.h, core/data/photo_view.h). padded: a photograph is cut out
  // of its middle, as in evaluation.
  std::string crop = "padded";                       // padded, random_resized
  double crop_scale_min = 0.08, crop_scale_max = 1;  // random_resized: share of the area
  double crop_ratio_min = 0.75;                      // random_resized: to its inverse, w to h
  int64_t image_size = 0;                            // side in training, 0: the data set's own
  int64_t eval_size = 0;                             // side in evaluation, 0: as in training
  int64_t start_size = 0;                            // side in the first epochs, 0: image_size
  int64_t grow_from = 0, grow_until = 0;  // epochs between which start_size grows to image_size

  // Evaluation.
  bool test_flip = false;  // the mean of the logits of an image and of its mirror image

  bool operator==(const Recipe&) const = default;
};

struct RunConfig {
  Purpose purpose = Purpose::kAccuracy;
  std::string network;  // full text, parameters included
  std::string dataset;
  // holdout: 5,000 training images (a tenth where there are fewer than 50,000) judge everything
  // that is chosen by looking, the test set is reported; paper: the test set does both.
  std::string split = "holdout";
  int64_t train_examples = 0;    // first so many of the training part, 0: all
  std::string method = "dense";  // full text
  std::vector<Rule> schedule;    // empty for dense
  Recipe recipe;
  int64_t seed = 0;
  int64_t batch_size = 128;
  // Of the products, weights stay in fp32: fp32; tf32: inputs rounded to 10 bits of mantissa; bf16;
  // fp16, whose loss is scaled so that gradients do not vanish.
  std::string precision = "fp32";
  int64_t threads = 0;         // >= 1 once resolved
  std::string device = "cpu";  // cpu, cuda
  // Timing runs only: pairs of blocks and periods of the schedule in a block.
  int64_t blocks = 20;
  int64_t block_steps = 16;  // rounded up to whole periods
  // Timing runs of exact training only: the network of the dense arm, full text; "": the same as
  // the other's. What a smaller network saves is measured so.
  std::string timed_against;

  bool operator==(const RunConfig&) const = default;
};

// The declarations of the scalar settings: names, defaults, ranges, help.
std::vector<ParamSpec> recipe_specs();
std::vector<ParamSpec> run_specs();

// Throw Error(kUsage) where settings contradict each other. That of a run looks at its recipe too.
void check(const Recipe& recipe);
void check(const RunConfig& config);

// Reading keeps what the text leaves out, and throws Error(kUsage) for an unknown key, a wrong type
// or a value out of range.
void to_json(Json& json, const Recipe& recipe);
void from_json(const Json& json, Recipe& recipe);
void to_json(Json& json, const RunConfig& config);
void from_json(const Json& json, RunConfig& config);

// sha256 over the canonical JSON of the configuration, the checksum of its data set and the
// versions of its method, network and the program's result format: 64 hexadecimal digits. Two
// runs with equal keys give the same result on the same device.
std::string run_key(const RunConfig& config, std::string_view dataset_sha256,
                    const Catalogue& catalogue);

}  // namespace approx
