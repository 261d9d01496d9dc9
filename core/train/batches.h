// Training batches: which examples at which step, and their augmentation, on the training device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/data/image_sizes.h"
#include "core/data/photo_loader.h"
#include "core/parallel/world.h"

namespace approx {

struct Batch {
  at::Tensor x;       // [B,C,H,W] float, channels last in memory, normalised
  at::Tensor labels;  // [B] int64
};

// Some photographs of a data set, which stay in their files until a batch needs them.
struct PhotoRows {
  ImageSet set;
  std::vector<int64_t> rows;  // indices into the set
  ImageSizes sizes;
  int64_t workers = 1;  // threads that decode; no part of a result
};

// One part of a data set. Images of one size are on the device: the bytes as they are, 4 to 12
// times smaller than floats. Of photographs only the labels are.
struct DeviceImages {
  at::Tensor pixels;  // [N,H,W,C] uint8; undefined for photographs
  at::Tensor labels;  // [N] int64
  std::shared_ptr<const PhotoRows> photos;
  int64_t count() const { return labels.size(0); }
};

// How the training part is divided. The held-out examples are chosen once for all seeds by a fixed
// permutation, since files may be sorted by class; the others are what each seed draws its own
// `train_examples` from, unless the run's `train_subset` is the shared one.
struct Split {
  DeviceImages train, holdout, test;  // holdout is empty for split = "paper"
};

// Moves the data set to `device`. `config` gives the split and the number of training examples;
// 5,000 are held out, a tenth where there are fewer than 50,000. Photographs stay where they are.
// Throws Error(kUsage) when nothing is left to train on, or the recipe wants sizes that the images
// have not.
Split split_dataset(const LoadedDataset& dataset, const RunConfig& config, at::Device device);

class Batches {
 public:
  // Keeps a reference to nothing; `images` shares its tensors. Of several processes each gets its
  // share of every batch, one after the other: together they see what one alone would see, with the
  // same augmentation. Error(kUsage) where the batch does not divide into equal shares.
  Batches(DeviceImages images, const LoadedDataset& dataset, const RunConfig& config,
          World world = {});
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  // Images of a step, of all ranks: no more than there are.
  int64_t batch_size() const { return batch_size_; }
  // Whole batches in an epoch (at least one): the rest of an epoch's permutation is left out, so
  // that every step has the same shape.
  int64_t per_epoch() const { return per_epoch_; }

  // The batch of a step counted from the start of the training: a function of the seed and the
  // step alone, so runs of one seed see the same images in the same order whatever their method.
  // Photographs are prepared ahead for steps asked for in order; Error(kData) for a damaged one.
  // The first step of an epoch brings the epoch's order to the device, and of images of one size
  // their random draws. In the others the host waits for photographs alone, and not for what the
  // device does; of images of one size they are work of the device alone, of one shape, and wait
  // for nothing.
  Batch at(int64_t step);

  // Nanoseconds that at() has waited for photographs to be prepared since the last call; nothing
  // for images of one size, which are always there.
  std::optional<int64_t> take_wait_ns();

 private:
  // Where this process's share of a step's batch begins in the epoch's order.
  int64_t begin_of(int64_t step) const { return step % per_epoch_ * batch_size_ + first_; }
  // Whether the alternating order mirrors an image of the part in an epoch.
  bool mirrors(int64_t row, int64_t epoch) const;
  std::vector<int64_t> draws_of(int64_t epoch, const std::vector<int64_t>& order) const;
  void begin_epoch(int64_t epoch);
  at::Tensor indices(int64_t step);
  Batch fixed_size_batch(int64_t step);
  Batch photo_batch(int64_t step);
  PhotoBatchPlan plan(int64_t step);

  DeviceImages images_;
  at::Tensor mean_, scale_;  // [C]
  Recipe recipe_;
  uint64_t seed_;
  int64_t batch_size_, per_epoch_;
  int64_t share_, first_;  // of a batch: how many images are this process's, from which on
  // What the epoch that began last needs, on the device: a step takes its part and copies nothing.
  int64_t epoch_ = -1;
  at::Tensor order_;  // [N]
  at::Tensor draws_;  // [per_epoch * B, 4]: row and column of the crop, flip, centre of the cutout
  // Orders of the epochs that photographs are prepared for: at the end of one also the next.
  std::map<int64_t, std::vector<int64_t>> orders_;
  std::unique_ptr<PhotoLoader> loader_;
  int64_t wait_ns_ = 0;
};

// A part as evaluation sees it, in order: images of one size as they are, the centres of
// photographs. The last batch may be smaller. Of several processes each has its share of the
// batches, one after the other: some have one more than others.
class EvalBatches {
 public:
  // `mean` and `scale` as pixel_statistics() gives them.
  EvalBatches(DeviceImages images, at::Tensor mean, at::Tensor scale, World world = {});

  int64_t count() const { return end_ - first_; }
  Batch at(int64_t i);

 private:
  DeviceImages images_;
  at::Tensor mean_, scale_;
  int64_t batch_size_;
  int64_t first_ = 0, end_ = 0;  // of all batches, those of this process
  std::unique_ptr<PhotoLoader> loader_;
};

// Images without augmentation, normalised: [B,C,H,W].
at::Tensor normalised(const at::Tensor& pixels, const at::Tensor& mean, const at::Tensor& scale);

// Per-channel mean and 1 / standard deviation of the data set, in units of pixel values 0..255.
std::pair<at::Tensor, at::Tensor> pixel_statistics(const LoadedDataset& dataset, at::Device device);

}  // namespace approx
