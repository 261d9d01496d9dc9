#include "core/train/batches.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/where.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "core/data/demands.h"
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

// Threads that decode: half of a run on the CPU, which trains with the others meanwhile; all where
// the CPU has nothing else to do.
int64_t loader_workers(const RunConfig& config) {
  const int64_t threads = std::max<int64_t>(1, config.threads);
  return config.device == DeviceKind::kCpu ? (threads + 1) / 2 : threads;
}

constexpr int64_t kBatchesAhead = 2;
constexpr auto kBatchLayout = at::MemoryFormat::ChannelsLast;

// The order's stream numbers epochs from 0; beside them, as of another layer, is the one draw of a
// seed's training examples.
constexpr uint32_t kSubsetLayer = 1;

// The augmentation's stream numbers steps from 0; beside them, as of another layer, is the one draw
// of the epochs in which images are mirrored.
constexpr uint32_t kAlternationLayer = 1;

DeviceImages pick_photos(const ImageSet& set, const at::Tensor& rows, const ImageSizes& sizes,
                         const RunConfig& config, at::Device device) {
  auto photos = std::make_shared<PhotoRows>();
  photos->set = set;
  const auto* first = rows.const_data_ptr<int64_t>();
  photos->rows.assign(first, first + rows.numel());
  photos->sizes = sizes;
  photos->workers = loader_workers(config);
  const auto labels =
      at::from_blob(const_cast<int64_t*>(set.labels.data()), {set.count}, at::kLong);
  return {{}, labels.index_select(0, rows).to(device), photos};
}

// What is on the host, on the device. A GPU copies ordinary memory once it has done what was asked
// of it before, and the host waits for both. It copies pinned memory while the host goes on, so
// `values` is copied into such first, and may change at once. LibTorch gives that memory to nobody
// else before the GPU is done with it. On the CPU it is `values` itself.
at::Tensor sent(const at::Tensor& values, at::Device device) {
  if (!device.is_cuda()) return values.to(device);
  const auto pinned = at::empty(values.sizes(), values.options().pinned_memory(true));
  pinned.copy_(values);
  return pinned.to(device, /*non_blocking=*/true);
}

// The loader's bytes on the device. On the CPU they are the loader's own, which it fills anew.
at::Tensor on_device(const PhotoLoader::Batch& batch, at::Device device) {
  const auto pixels = at::from_blob(const_cast<uint8_t*>(batch.pixels.data()),
                                    {batch.count, batch.size, batch.size, 3}, at::kByte);
  return sent(pixels, device);
}

// Where pixel `at` of a padded row comes from: reflected at the borders, without repeating them.
// The padding is less than `size` (image_sizes).
at::Tensor reflected(const at::Tensor& at, int64_t size) {
  const auto inside = at.abs();
  return at::where(inside >= size, 2 * (size - 1) - inside, inside);
}

// Sets a square of the normalised images [B,C,H,W] to the mean: its middle is pixel `centre` [B,1]
// of the image, row by row.
void cut_out(const at::Tensor& images, const at::Tensor& centre, int64_t side) {
  const int64_t size_y = images.size(2), size_x = images.size(3), reach = side / 2;
  const auto whole = at::TensorOptions().dtype(at::kLong).device(images.device());
  const auto near = [&](int64_t size, const at::Tensor& middle) {
    const auto distance = at::arange(size, whole).unsqueeze(0) - middle;
    return (distance >= -reach).logical_and_(distance < side - reach);
  };
  const auto hole = near(size_y, centre.div(size_x, "trunc"))
                        .unsqueeze(2)
                        .logical_and(near(size_x, centre.remainder(size_x)).unsqueeze(1));
  images.mul_(hole.logical_not().unsqueeze(1));
}

}  // namespace

Split split_dataset(const LoadedDataset& dataset, const RunConfig& config, at::Device device) {
  const int64_t count = dataset.train.count;
  const auto [held_out, train] = training_parts(config, outline_of(dataset));
  // The same division for every run. Its stream is that of the order of epoch 0 in runs of seed 0,
  // which does no harm, and stored runs have this division.
  const auto order = from_vector(permutation(count, Rng{.seed = 0, .stream = kOrderStream}));
  const auto held = order.narrow(0, 0, held_out);
  auto rest = order.narrow(0, held_out, count - held_out);
  if (train < rest.numel() && config.train_subset == SubsetKind::kSeed) {
    const Rng rng{
        .seed = static_cast<uint64_t>(config.seed), .layer = kSubsetLayer, .stream = kOrderStream};
    rest = rest.index_select(0, from_vector(permutation(rest.numel(), rng)));
  }
  const auto sizes = image_sizes(config.recipe, outline_of(dataset));
  const auto take = [&](const ImageSet& set, const at::Tensor& rows) {
    return dataset.has_photos() ? pick_photos(set, rows, sizes, config, device)
                                : pick(set, rows, device);
  };
  Split split;
  split.holdout = take(dataset.train, held);
  split.train = take(dataset.train, rest.narrow(0, 0, train));
  split.test = take(dataset.test, at::arange(dataset.test.count, at::kLong));
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

Batches::Batches(DeviceImages images, const LoadedDataset& dataset, const RunConfig& config,
                 World world)
    : images_(std::move(images)),
      recipe_(config.recipe),
      sizes_(image_sizes(config.recipe, outline_of(dataset))),
      seed_(static_cast<uint64_t>(config.seed)),
      batch_size_(std::min(config.batch_size, images_.count())),
      per_epoch_(steps_per_epoch(images_.count(), batch_size_)),
      share_(batch_size_ / world.size),
      first_(world.rank * share_),
      size_(batch_size_) {
  if (batch_size_ % world.size != 0) {
    throw usage_error("batches of {} images cannot be shared equally by {} processes", batch_size_,
                      world.size);
  }
  std::tie(mean_, scale_) = pixel_statistics(dataset, images_.labels.device());
  if (images_.photos) {
    loader_ = std::make_unique<PhotoLoader>(
        images_.photos->set, [this](int64_t step) { return plan(step); }, images_.photos->workers,
        kBatchesAhead);
  }
}

namespace {

bool augments(const Recipe& recipe) {
  return recipe.crop_padding > 0 || recipe.flip || recipe.cutout > 0;
}

// The order of an epoch, from `orders` or newly drawn into it. Those of the neighbouring epochs
// stay: a loader works ahead.
template <typename Orders>
const std::vector<int64_t>& order_of(Orders& orders, int64_t epoch, int64_t count, uint64_t seed) {
  const auto found = orders.find(epoch);
  if (found != orders.end()) return found->second;
  const Rng rng{.seed = seed, .step = static_cast<uint64_t>(epoch), .stream = kOrderStream};
  std::erase_if(orders, [epoch](const auto& order) { return std::abs(order.first - epoch) > 1; });
  return orders.emplace(epoch, permutation(count, rng)).first->second;
}

}  // namespace

bool Batches::mirrors(int64_t row, int64_t epoch) const {
  const Rng rng{.seed = seed_, .layer = kAlternationLayer, .stream = kAugmentStream};
  const auto words = rng.block(static_cast<uint32_t>(row / 4));
  return ((words[static_cast<size_t>(row % 4)] ^ static_cast<uint32_t>(epoch)) & 1) != 0;
}

std::vector<int64_t> Batches::draws_of(int64_t epoch, const std::vector<int64_t>& order) const {
  const int64_t pixels = images_.pixels.size(1) * images_.pixels.size(2);
  const int64_t pad = recipe_.crop_padding;
  const auto shifts = static_cast<uint32_t>(2 * pad + 1);
  const bool alternates = recipe_.flip_order == FlipOrder::kAlternating;
  auto row = order.begin();
  std::vector<int64_t> draws;
  draws.reserve(static_cast<size_t>(4 * per_epoch_ * size_));
  for (int64_t step = epoch * per_epoch_; step < (epoch + 1) * per_epoch_; ++step) {
    const Rng rng{.seed = seed_, .step = static_cast<uint64_t>(step), .stream = kAugmentStream};
    for (int64_t i = 0; i < size_; ++i) {
      const auto words = rng.block(static_cast<uint32_t>(i));
      draws.push_back(pad == 0 ? 0 : Rng::below(shifts, words[0]) - pad);
      draws.push_back(pad == 0 ? 0 : Rng::below(shifts, words[1]) - pad);
      const bool mirrored = alternates ? mirrors(*row++, epoch) : (words[2] & 1) != 0;
      draws.push_back(recipe_.flip && mirrored ? 1 : 0);
      draws.push_back(Rng::below(static_cast<uint32_t>(pixels), words[3]));
    }
  }
  return draws;
}

void Batches::follow(ChooseEpoch choose, bool weighs) {
  choose_ = std::move(choose);
  weighs_ = weighs;
  restart();
}

void Batches::begin_epoch(int64_t epoch) {
  const auto device = images_.labels.device();
  const auto* order = &order_of(orders_, epoch, images_.count(), seed_);
  EpochPlan chosen;
  if (choose_) {
    chosen = choose_(epoch, *order);
    order = &chosen.ids;
    share_ = size_ = chosen.per_step;
    if (chosen.weights.empty()) chosen.weights.assign(weighs_ ? chosen.ids.size() : 0, 1);
    if (weighs_) weights_ = at::tensor(chosen.weights).to(device);
  }
  order_ = from_vector(*order).to(device);
  if (!loader_ && augments(recipe_)) {
    draws_ = from_vector(draws_of(epoch, *order)).view({-1, 4}).to(device);
  }
  epoch_ = epoch;
}

at::Tensor Batches::indices(int64_t step) {
  if (step / per_epoch_ != epoch_) begin_epoch(step / per_epoch_);
  return order_.narrow(0, begin_of(step), share_);
}

Batch Batches::at(int64_t step) {
  auto batch = loader_ ? photo_batch(step) : of_epochs_size(fixed_size_batch(step), step);
  if (choose_) {
    batch.ids = indices(step);
    if (weighs_) batch.weights = weights_.narrow(0, begin_of(step), share_);
  }
  return batch;
}

Batch Batches::of_epochs_size(Batch batch, int64_t step) const {
  const int64_t side = sizes_.at_epoch(step / per_epoch_);
  if (side == batch.x.size(2)) return batch;
  // A pixel is the mean of those that it covers.
  batch.x = at::adaptive_avg_pool2d(batch.x, {side, side}).contiguous(kBatchLayout);
  return batch;
}

std::optional<int64_t> Batches::take_wait_ns() {
  if (!loader_) return std::nullopt;
  return std::exchange(wait_ns_, 0);
}

PhotoBatchPlan Batches::plan(int64_t step) {
  const auto& photos = *images_.photos;
  const int64_t epoch = step / per_epoch_;
  const auto& order = order_of(orders_, epoch, images_.count(), seed_);
  PhotoBatchPlan plan;
  const auto from = order.begin() + begin_of(step);
  for (auto row = from; row != from + share_; ++row) {
    plan.images.push_back(photos.rows[static_cast<size_t>(*row)]);
    if (recipe_.flip && recipe_.flip_order == FlipOrder::kAlternating) {
      plan.mirrored.push_back(mirrors(*row, epoch));
    }
  }
  plan.view = {
      .size = photos.sizes.at_epoch(epoch),
      .random = recipe_.crop == CropKind::kRandomResized,
      .ranges = {recipe_.crop_scale_min, recipe_.crop_scale_max, recipe_.crop_ratio_min},
      .may_flip = recipe_.flip,
      .rng = {.seed = seed_, .step = static_cast<uint64_t>(step), .stream = kAugmentStream},
      .index = static_cast<uint32_t>(first_)};
  return plan;
}

Batch Batches::photo_batch(int64_t step) {
  const auto before = std::chrono::steady_clock::now();
  const auto batch = loader_->at(step);
  wait_ns_ += std::chrono::nanoseconds(std::chrono::steady_clock::now() - before).count();
  const auto labels = images_.labels.index_select(0, indices(step));
  const auto images = normalised(on_device(batch, labels.device()), mean_, scale_);
  if (recipe_.cutout > 0) {
    const Rng rng{.seed = seed_, .step = static_cast<uint64_t>(step), .stream = kAugmentStream};
    std::vector<int64_t> centres;
    for (int64_t i = first_; i < first_ + batch.count; ++i) {
      const auto words = rng.block(kPhotoBlocks * static_cast<uint32_t>(i) + kPhotoExtras);
      centres.push_back(Rng::below(static_cast<uint32_t>(batch.size * batch.size), words[1]));
    }
    const auto centre = sent(from_vector(centres).view({batch.count, 1}), labels.device());
    cut_out(images, centre, recipe_.cutout);
  }
  return {images, labels};
}

Batch Batches::fixed_size_batch(int64_t step) {
  const auto rows = indices(step);
  const auto labels = images_.labels.index_select(0, rows);
  const int64_t size_y = images_.pixels.size(1), size_x = images_.pixels.size(2);
  const int64_t pad = recipe_.crop_padding;
  if (!augments(recipe_)) {
    return {normalised(images_.pixels.index_select(0, rows), mean_, scale_), labels};
  }

  const auto draw = draws_.narrow(0, begin_of(step), share_);
  const auto column = [&](int64_t i) { return draw.narrow(1, i, 1); };  // [B,1]

  // Crop and flip are one gather: source row and column of every pixel of the batch.
  const auto whole = draw.options();
  const auto y = at::arange(size_y, whole).unsqueeze(0) + column(0);  // [B,H]
  auto x = at::arange(size_x, whole).unsqueeze(0);
  x = at::where(column(2) == 1, size_x - 1 - x, x) + column(1);  // [B,W]
  const bool reflect = recipe_.padding_mode == PaddingMode::kReflect;
  const auto from_y = reflect ? reflected(y, size_y) : y.clamp(0, size_y - 1);
  const auto from_x = reflect ? reflected(x, size_x) : x.clamp(0, size_x - 1);
  // One flat index per pixel, whose row of C bytes index_select copies.
  const auto flat = (rows.view({-1, 1, 1}) * size_y + from_y.unsqueeze(2)) * size_x +
                    from_x.unsqueeze(1);  // [B,H,W]
  const int64_t channels = images_.pixels.size(3);
  const auto pixels = images_.pixels.view({-1, channels})
                          .index_select(0, flat.flatten())
                          .view({share_, size_y, size_x, channels});
  auto images = normalised(pixels, mean_, scale_);  // [B,C,H,W]
  if (!reflect && pad > 0) {
    // Outside the image there is the mean (zero once normalised), as if padded after normalising.
    const auto in_y = (y >= 0).logical_and_(y < size_y), in_x = (x >= 0).logical_and_(x < size_x);
    images.mul_(in_y.unsqueeze(2).logical_and(in_x.unsqueeze(1)).unsqueeze(1));
  }
  if (recipe_.cutout > 0) cut_out(images, column(3), recipe_.cutout);
  return {images, labels};
}

EvalBatches::EvalBatches(DeviceImages images, at::Tensor mean, at::Tensor scale, World world)
    : images_(std::move(images)),
      mean_(std::move(mean)),
      scale_(std::move(scale)),
      // Photographs make large maps: a batch of 64 takes what the activations of training take.
      batch_size_(images_.photos ? 64 : 500) {
  const int64_t batches = (images_.count() + batch_size_ - 1) / batch_size_;
  first_ = world.rank * batches / world.size;
  end_ = (world.rank + 1) * batches / world.size;
  if (!images_.photos) return;
  // What is asked for ahead beyond this process's share are no images.
  const auto all = std::min(static_cast<int64_t>(images_.photos->rows.size()), end_ * batch_size_);
  const auto plan = [photos = images_.photos, size = batch_size_, first = first_, all](int64_t i) {
    PhotoBatchPlan plan;
    const auto begin = photos->rows.begin() + std::min(all, (first + i) * size);
    plan.images.assign(begin, photos->rows.begin() + std::min(all, (first + i + 1) * size));
    plan.view.size = photos->sizes.eval;
    return plan;
  };
  loader_ = std::make_unique<PhotoLoader>(images_.photos->set, plan, images_.photos->workers,
                                          kBatchesAhead);
}

Batch EvalBatches::at(int64_t i) {
  const int64_t begin = (first_ + i) * batch_size_;
  const int64_t size = std::min(batch_size_, images_.count() - begin);
  const auto labels = images_.labels.narrow(0, begin, size);
  const auto pixels =
      loader_ ? on_device(loader_->at(i), labels.device()) : images_.pixels.narrow(0, begin, size);
  return {normalised(pixels, mean_, scale_), labels};
}

}  // namespace approx
