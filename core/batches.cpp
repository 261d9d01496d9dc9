#include "core/batches.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <numeric>

#include "core/spec/error.h"
#include "kernels/rng.h"

namespace approx {
namespace {

// Fisher and Yates' shuffle from the counter-based generator.
std::vector<int64_t> permutation(int64_t count, const Rng& rng) {
  std::vector<int64_t> order(static_cast<size_t>(count));
  std::iota(order.begin(), order.end(), 0);
  for (int64_t i = count - 1; i > 0; --i) {
    const uint32_t word = rng.block(static_cast<uint32_t>(i / 4))[static_cast<size_t>(i % 4)];
    std::swap(order[static_cast<size_t>(i)], order[Rng::below(static_cast<uint32_t>(i + 1), word)]);
  }
  return order;
}

at::Tensor from_vector(const std::vector<int64_t>& values) {
  return at::tensor(values, at::TensorOptions().dtype(at::kLong));
}

// The bytes of the set without a copy; `rows` picks and orders on the way to the device.
DeviceImages pick(const ImageSet& set, const at::Tensor& rows, at::Device device) {
  const auto pixels = at::from_blob(const_cast<uint8_t*>(set.pixels.data()),
                                    {set.count, set.height, set.width, set.channels}, at::kByte);
  const auto labels =
      at::from_blob(const_cast<int64_t*>(set.labels.data()), {set.count}, at::kLong);
  return {pixels.index_select(0, rows).to(device), labels.index_select(0, rows).to(device)};
}

// Where pixel `at` of a padded row comes from: reflected at the borders, without repeating them.
at::Tensor reflected(const at::Tensor& at, int64_t size) {
  const auto inside = at.abs();
  return at::where(inside >= size, 2 * (size - 1) - inside, inside);
}

}  // namespace

Split split_dataset(const LoadedDataset& dataset, const RunConfig& config, at::Device device) {
  const int64_t count = dataset.train.count;
  int64_t held_out = 0;
  if (config.split == "holdout") held_out = count >= 50000 ? 5000 : count / 10;
  // Seed 0 of a stream of its own: the same division for every run.
  const auto order = from_vector(permutation(count, Rng{.seed = 0, .stream = kOrderStream}));
  int64_t train = count - held_out;
  if (config.train_examples > train) {
    throw usage_error("train_examples = {}: {} has {} training images left beside the {} held out",
                      config.train_examples, dataset.name, train, held_out);
  }
  if (config.train_examples > 0) train = config.train_examples;
  if (train < 1) throw usage_error("{} has no training images left", dataset.name);
  Split split;
  split.holdout = pick(dataset.train, order.narrow(0, 0, held_out), device);
  split.train = pick(dataset.train, order.narrow(0, held_out, train), device);
  split.test = pick(dataset.test, at::arange(dataset.test.count, at::kLong), device);
  return split;
}

std::pair<at::Tensor, at::Tensor> pixel_statistics(const LoadedDataset& dataset,
                                                   at::Device device) {
  std::vector<float> mean, scale;
  for (size_t c = 0; c < dataset.mean.size(); ++c) {
    mean.push_back(static_cast<float>(255 * dataset.mean[c]));
    // A constant channel carries nothing; leave it at zero instead of dividing by it.
    scale.push_back(dataset.stddev[c] > 0 ? static_cast<float>(1 / (255 * dataset.stddev[c])) : 0);
  }
  return {at::tensor(mean).to(device), at::tensor(scale).to(device)};
}

at::Tensor normalised(const at::Tensor& pixels, const at::Tensor& mean, const at::Tensor& scale) {
  // [B,H,W,C] in memory is [B,C,H,W] with the channels last: the layout the networks want.
  return pixels.to(at::kFloat).sub_(mean).mul_(scale).permute({0, 3, 1, 2});
}

Batches::Batches(DeviceImages images, const LoadedDataset& dataset, const RunConfig& config)
    : images_(std::move(images)),
      recipe_(config.recipe),
      seed_(static_cast<uint64_t>(config.seed)),
      batch_size_(std::min(config.batch_size, images_.count())),
      per_epoch_(std::max<int64_t>(1, images_.count() / batch_size_)) {
  std::tie(mean_, scale_) = pixel_statistics(dataset, images_.pixels.device());
}

at::Tensor Batches::indices(int64_t step) {
  const int64_t epoch = step / per_epoch_;
  if (epoch != shuffled_epoch_) {
    const Rng rng{.seed = seed_, .step = static_cast<uint64_t>(epoch), .stream = kOrderStream};
    order_ = from_vector(permutation(images_.count(), rng)).to(images_.pixels.device());
    shuffled_epoch_ = epoch;
  }
  return order_.narrow(0, step % per_epoch_ * batch_size_, batch_size_);
}

Batch Batches::at(int64_t step) {
  const auto rows = indices(step);
  const auto labels = images_.labels.index_select(0, rows);
  const int64_t size_y = images_.pixels.size(1), size_x = images_.pixels.size(2);
  const int64_t pad = recipe_.crop_padding;
  if (pad == 0 && !recipe_.flip && recipe_.cutout == 0) {
    return {normalised(images_.pixels.index_select(0, rows), mean_, scale_), labels};
  }

  // Four draws an image: row and column of the crop, the flip, the cutout's centre.
  std::vector<int64_t> draws(static_cast<size_t>(4 * batch_size_));
  const Rng rng{.seed = seed_, .step = static_cast<uint64_t>(step), .stream = kAugmentStream};
  for (int64_t i = 0; i < batch_size_; ++i) {
    const auto words = rng.block(static_cast<uint32_t>(i));
    const auto shifts = static_cast<uint32_t>(2 * pad + 1);
    auto* draw = draws.data() + 4 * i;
    draw[0] = pad == 0 ? 0 : Rng::below(shifts, words[0]) - pad;
    draw[1] = pad == 0 ? 0 : Rng::below(shifts, words[1]) - pad;
    draw[2] = recipe_.flip ? words[2] & 1 : 0;
    draw[3] = Rng::below(static_cast<uint32_t>(size_y * size_x), words[3]);
  }
  const auto device = images_.pixels.device();
  const auto draw = from_vector(draws).view({batch_size_, 4}).to(device, /*non_blocking=*/true);
  const auto column = [&](int64_t i) { return draw.narrow(1, i, 1); };  // [B,1]

  // Crop and flip are one gather: source row and column of every pixel of the batch.
  const auto whole = at::TensorOptions().dtype(at::kLong).device(device);
  const auto y = at::arange(size_y, whole).unsqueeze(0) + column(0);  // [B,H]
  auto x = at::arange(size_x, whole).unsqueeze(0);
  x = at::where(column(2) == 1, size_x - 1 - x, x) + column(1);  // [B,W]
  const bool reflect = recipe_.padding_mode == "reflect";
  const auto from_y = reflect ? reflected(y, size_y) : y.clamp(0, size_y - 1);
  const auto from_x = reflect ? reflected(x, size_x) : x.clamp(0, size_x - 1);
  // One flat index per pixel, whose row of C bytes index_select copies.
  const auto flat = (rows.view({-1, 1, 1}) * size_y + from_y.unsqueeze(2)) * size_x +
                    from_x.unsqueeze(1);  // [B,H,W]
  const int64_t channels = images_.pixels.size(3);
  const auto pixels = images_.pixels.view({-1, channels})
                          .index_select(0, flat.flatten())
                          .view({batch_size_, size_y, size_x, channels});
  auto images = normalised(pixels, mean_, scale_);  // [B,C,H,W]
  if (!reflect && pad > 0) {
    // Outside the image there is the mean (zero once normalised), as if padded after normalising.
    const auto in_y = (y >= 0).logical_and_(y < size_y), in_x = (x >= 0).logical_and_(x < size_x);
    images.mul_(in_y.unsqueeze(2).logical_and(in_x.unsqueeze(1)).unsqueeze(1));
  }
  if (recipe_.cutout > 0) {
    const int64_t reach = recipe_.cutout / 2;
    const auto cy = column(3).div(size_x, "trunc"), cx = column(3).remainder(size_x);
    const auto near = [&](int64_t size, const at::Tensor& centre) {
      const auto distance = at::arange(size, whole).unsqueeze(0) - centre;
      return (distance >= -reach).logical_and_(distance < recipe_.cutout - reach);
    };
    const auto hole = near(size_y, cy).unsqueeze(2).logical_and(near(size_x, cx).unsqueeze(1));
    images.mul_(hole.logical_not().unsqueeze(1));
  }
  return {images, labels};
}

}  // namespace approx
