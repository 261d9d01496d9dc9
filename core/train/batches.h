// Training batches: the examples of each step and their augmentation, on the training device.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "core/config/run_config.h"
#include "core/data/dataset.h"
#include "core/data/image_sizes.h"
#include "core/data/photo_loader.h"
#include "core/parallel/world.h"
#include "core/selections/selection.h"

namespace approx {

struct Batch {
  at::Tensor x;       // [B,C,H,W] float, channels last in memory, normalised
  at::Tensor labels;  // [B] int64
  // If a source chooses the examples (Batches::follow), else undefined.
  at::Tensor ids = {};      // [B] int64, rows of the part
  at::Tensor weights = {};  // [B] float, factors of the losses; undefined: all 1
};

// Some photographs of a data set. They stay in their files until a batch needs them.
struct PhotoRows {
  ImageSet set;
  std::vector<int64_t> rows;  // indices into the set
  ImageSizes sizes;
  int64_t workers = 1;  // threads that decode; they do not change results
};

// One part of a data set. Images of one size are on the device as bytes, which take 4 to 12 times
// less memory than floats. For photographs only the labels are on the device.
struct DeviceImages {
  at::Tensor pixels;  // [N,H,W,C] uint8; undefined for photographs
  at::Tensor labels;  // [N] int64
  std::shared_ptr<const PhotoRows> photos;
  int64_t count() const { return labels.size(0); }
};

// How the training part is divided. A fixed permutation chooses the held-out examples, once for all
// seeds, as files may be sorted by class. Each seed draws its own `train_examples` from the other
// examples, unless the run's `train_subset` is the shared one.
struct Split {
  DeviceImages train, holdout, test;  // holdout is empty for split = "paper"
};

// Moves the data set to `device`. `config` gives the split and the number of training examples.
// 5,000 images are held out, or a tenth if there are fewer than 50,000. Photographs stay in their
// files. Throws Error(kUsage) if no image is left to train on, or if the images do not have sizes
// that the recipe asks for.
Split split_dataset(const LoadedDataset& dataset, const RunConfig& config, at::Device device);

class Batches {
 public:
  // Keeps no references; shares the tensors of `images`. Each of several processes gets its share
  // of every batch, one after the other. Together they see the images of a single process, with
  // equal augmentation. Throws Error(kUsage) if the batch does not divide into equal shares.
  Batches(DeviceImages images, const LoadedDataset& dataset, const RunConfig& config,
          World world = {});
  Batches(const Batches&) = delete;
  Batches& operator=(const Batches&) = delete;

  // Images in a step, over all ranks; at most all images of the part.
  int64_t batch_size() const { return batch_size_; }
  // Whole batches in an epoch, at least one. The rest of an epoch's permutation is left out, so
  // that every step has equal shapes.
  int64_t per_epoch() const { return per_epoch_; }

  // The batch of a step counted from the start of the training. It is a function of the seed and
  // the step alone: runs of one seed see equal images in equal order, whatever their method.
  // Photographs are prepared ahead for steps in order. Throws Error(kData) for a damaged one.
  //
  // The first step of an epoch copies the epoch's order to the device, and for images of one size
  // also their random draws. In other steps the host waits only for photographs, and never for the
  // device. Batches of images of one size are then work of the device alone, with shapes that do
  // not change.
  Batch at(int64_t step);

  // Takes the examples of each epoch from `choose`, which gets the epoch and its random order of
  // all examples. The plan has `per_step` set. `weighs`: batches have weights, also where a plan
  // has none. Only for images of one size and one process. at() then asks `choose` at the first
  // step of an epoch.
  using ChooseEpoch = std::function<EpochPlan(int64_t epoch, const std::vector<int64_t>& order)>;
  void follow(ChooseEpoch choose, bool weighs);

  // Makes the next batch ask again for the examples of its epoch.
  void restart() { epoch_ = -1; }

  // Nanoseconds for which at() has waited for photographs since the last call. Nothing for images
  // of one size, which need no preparation.
  std::optional<int64_t> take_wait_ns();

 private:
  // The start of this process's share of a step's batch in the epoch's order.
  int64_t begin_of(int64_t step) const { return step % per_epoch_ * size_ + first_; }
  // Whether the alternating order mirrors an image of the part in an epoch.
  bool mirrors(int64_t row, int64_t epoch) const;
  std::vector<int64_t> draws_of(int64_t epoch, const std::vector<int64_t>& order) const;
  void begin_epoch(int64_t epoch);
  at::Tensor indices(int64_t step);
  Batch fixed_size_batch(int64_t step);
  // A batch of images of one size as large as in its epoch.
  Batch of_epochs_size(Batch batch, int64_t step) const;
  Batch photo_batch(int64_t step);
  PhotoBatchPlan plan(int64_t step);

  DeviceImages images_;
  at::Tensor mean_, scale_;  // [C]
  Recipe recipe_;
  ImageSizes sizes_;
  uint64_t seed_;
  int64_t batch_size_, per_epoch_;
  int64_t share_, first_;  // of a batch: the images of this process, and the first of them
  int64_t size_;           // images of a step in the current epoch, over all ranks
  ChooseEpoch choose_;     // null: every step takes the next images of the order
  bool weighs_ = false;
  // Data of the current epoch, on the device: a step uses a part of it and copies nothing.
  int64_t epoch_ = -1;
  at::Tensor order_;    // [N]
  at::Tensor weights_;  // [N]; undefined: none
  at::Tensor draws_;  // [per_epoch * B, 4]: row and column of the crop, flip, centre of the cutout
  // Orders of the epochs that photographs are prepared for: at the end of an epoch also the next.
  std::map<int64_t, std::vector<int64_t>> orders_;
  std::unique_ptr<PhotoLoader> loader_;
  int64_t wait_ns_ = 0;
};

// A part in order, for evaluation: images of one size unchanged, photographs cut in their centre.
// The last batch may be smaller. Each of several processes has its share of the batches, one after
// the other: some have one more than others.
class EvalBatches {
 public:
  // `mean` and `scale` are those of pixel_statistics().
  EvalBatches(DeviceImages images, at::Tensor mean, at::Tensor scale, World world = {});

  int64_t count() const { return end_ - first_; }
  Batch at(int64_t i);

 private:
  DeviceImages images_;
  at::Tensor mean_, scale_;
  int64_t batch_size_;
  int64_t first_ = 0, end_ = 0;  // the batches of this process
  std::unique_ptr<PhotoLoader> loader_;
};

// Normalises images without augmentation: [B,C,H,W].
at::Tensor normalised(const at::Tensor& pixels, const at::Tensor& mean, const at::Tensor& scale);

// Per-channel mean and 1 / standard deviation of the data set, in units of pixel values 0..255.
std::pair<at::Tensor, at::Tensor> pixel_statistics(const LoadedDataset& dataset, at::Device device);

}  // namespace approx
