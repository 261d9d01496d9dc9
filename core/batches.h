// Training batches: which examples at which step, and their augmentation, on the training device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

#include "core/data/dataset.h"
#include "core/spec/run_config.h"

namespace approx {

struct Batch {
  at::Tensor x;       // [B,C,H,W] float, channels last in memory, normalised
  at::Tensor labels;  // [B] int64
};

// One part of a data set on a device: the bytes as they are, 4 to 12 times smaller than floats.
struct DeviceImages {
  at::Tensor pixels;  // [N,H,W,C] uint8
  at::Tensor labels;  // [N] int64
  int64_t count() const { return pixels.size(0); }
};

// How the training part is divided. The held-out examples are chosen once for all seeds by a fixed
// permutation, since files may be sorted by class.
struct Split {
  DeviceImages train, holdout, test;  // holdout is empty for split = "paper"
};

// Moves the data set to `device`. `config` gives the split and the number of training examples;
// 5,000 are held out, a tenth where there are fewer than 50,000. Throws Error(kUsage) when nothing
// is left to train on.
Split split_dataset(const LoadedDataset& dataset, const RunConfig& config, at::Device device);

class Batches {
 public:
  // Keeps a reference to nothing; `images` shares its tensors.
  Batches(DeviceImages images, const LoadedDataset& dataset, const RunConfig& config);

  // Whole batches in an epoch (at least one): the rest of an epoch's permutation is left out, so
  // that every step has the same shape.
  int64_t per_epoch() const { return per_epoch_; }

  // The batch of a step counted from the start of the training: a function of the seed and the
  // step alone, so runs of one seed see the same images in the same order whatever their method.
  Batch at(int64_t step);

 private:
  at::Tensor indices(int64_t step);

  DeviceImages images_;
  at::Tensor mean_, scale_;  // [C]
  Recipe recipe_;
  uint64_t seed_;
  int64_t batch_size_, per_epoch_;
  int64_t shuffled_epoch_ = -1;
  at::Tensor order_;  // [N] of shuffled_epoch_
};

// Images without augmentation, normalised: [B,C,H,W].
at::Tensor normalised(const at::Tensor& pixels, const at::Tensor& mean, const at::Tensor& scale);

// Per-channel mean and 1 / standard deviation of the data set, in units of pixel values 0..255.
std::pair<at::Tensor, at::Tensor> pixel_statistics(const LoadedDataset& dataset, at::Device device);

}  // namespace approx
