// The images of each step: their order, their shares among ranks, what is done to them.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <string_view>

#include "core/networks/network.h"
#include "core/train/session.h"
#include "tests/core/train/toy_events.h"

namespace approx {
namespace {

// Every training image of an epoch, as a hash, to follow it through the shuffle.
std::vector<size_t> seen_in_epoch(Batches& batches, int64_t epoch) {
  std::vector<size_t> hashes;
  for (int64_t step = 0; step < batches.per_epoch(); ++step) {
    const auto x = batches.at(epoch * batches.per_epoch() + step).x;
    for (int64_t i = 0; i < x.size(0); ++i) {
      const auto image = x[i].contiguous();
      hashes.push_back(std::hash<std::string_view>()(
          {static_cast<const char*>(image.const_data_ptr()), image.nbytes()}));
    }
  }
  return hashes;
}

TEST(Batches, AnEpochIsAPermutationAndTheNextIsAnother) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.batch_size = 46;  // 230 images: five whole batches
  auto split = split_dataset(dataset, config, at::kCPU);
  ASSERT_EQ(split.train.count(), 231);
  Batches batches(split.train, dataset, config);
  auto first = seen_in_epoch(batches, 0), second = seen_in_epoch(batches, 1),
       again = seen_in_epoch(batches, 0);
  EXPECT_EQ(first, again);
  EXPECT_NE(first, second);
  EXPECT_EQ(first.size(), 230u);
  std::sort(first.begin(), first.end());
  EXPECT_EQ(std::unique(first.begin(), first.end()), first.end());
}

// Which images of the training part a batch has.
std::vector<int64_t> rows_of(const Batch& batch, const LoadedDataset& dataset) {
  const auto& set = dataset.train;
  const auto pixels = at::from_blob(const_cast<uint8_t*>(set.pixels.data()),
                                    {set.count, set.height, set.width, set.channels}, at::kByte);
  const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
  const auto all = normalised(pixels, mean, scale);
  std::vector<int64_t> rows;
  for (int64_t i = 0; i < batch.x.size(0); ++i) {
    const auto distance = (all - batch.x[i]).abs().sum({1, 2, 3});
    EXPECT_EQ(distance.min().item<double>(), 0);
    rows.push_back(distance.argmin().item<int64_t>());
  }
  return rows;
}

TEST(Batches, OfOneProcessAreThoseOnRecord) {
  const auto dataset = toy_dataset(20, 4);
  auto config = toy_config();
  config.split = SplitKind::kPaper;
  config.batch_size = 5;
  config.seed = 3;
  Batches batches(split_dataset(dataset, config, at::kCPU).train, dataset, config);
  using Rows = std::vector<int64_t>;
  EXPECT_EQ(rows_of(batches.at(0), dataset), (Rows{6, 2, 13, 12, 15}));
  EXPECT_EQ(rows_of(batches.at(3), dataset), (Rows{19, 17, 7, 16, 14}));
  EXPECT_EQ(rows_of(batches.at(4), dataset), (Rows{13, 5, 7, 19, 17}));
}

// In the first epochs images are smaller: each pixel is the mean of those that it covers, of the
// image as it would have been.
TEST(Batches, ImagesOfOneSizeBeginSmaller) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.recipe.crop_padding = 2;
  config.recipe.flip = true;
  const auto train = split_dataset(dataset, config, at::kCPU).train;
  for (const int64_t side : {1, 4, 6}) {
    SCOPED_TRACE(side);
    Batches whole(train, dataset, config);
    auto small = config;
    small.recipe.start_size = side;
    small.recipe.grow_from = 1;
    small.recipe.grow_until = 3;
    Batches growing(train, dataset, small);
    const int64_t steps = whole.per_epoch();
    for (const int64_t step : {int64_t{0}, steps}) {
      const auto full = whole.at(step), got = growing.at(step);
      EXPECT_TRUE(at::equal(got.labels, full.labels));
      ASSERT_EQ(got.x.sizes(), (at::IntArrayRef{full.x.size(0), 1, side, side}));
      EXPECT_TRUE(got.x.is_contiguous(at::MemoryFormat::ChannelsLast));
      auto expected = at::zeros_like(got.x);
      for (int64_t y = 0; y < side; ++y) {
        for (int64_t x = 0; x < side; ++x) {
          const int64_t top = y * 8 / side, bottom = ((y + 1) * 8 + side - 1) / side;
          const int64_t left = x * 8 / side, right = ((x + 1) * 8 + side - 1) / side;
          auto covered = full.x.slice(2, top, bottom).slice(3, left, right);
          expected.select(3, x).select(2, y).copy_(covered.mean({2, 3}));
        }
      }
      EXPECT_TRUE(at::allclose(got.x, expected, 1e-5, 1e-6));
    }
    EXPECT_TRUE(at::equal(growing.at(3 * steps).x, whole.at(3 * steps).x));
  }
}

// A network with global pooling trains on growing images; another is refused.
TEST(Batches, GrowingImagesTrainANetworkThatTakesThem) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.network = "resnet14";
  config.recipe.epochs = 3;
  config.recipe.start_size = 4;
  config.recipe.grow_from = 0;
  config.recipe.grow_until = 2;
  Session session(config, dataset);
  std::vector<int64_t> sides;
  for (int64_t i = 0; i < session.total_steps(); ++i) {
    session.step();
    const auto* layer = session.network().layers()[0];
    if (sides.empty() || sides.back() != layer->info.in_size) sides.push_back(layer->info.in_size);
  }
  EXPECT_EQ(sides, (std::vector<int64_t>{4, 8}));
  EXPECT_TRUE(std::isfinite(session.take_mean_loss()));
  config.network = "small_cnn:width=4";
  EXPECT_THROW(Session(config, dataset), Error);
  config.network = "resnet14";
  config.selection = "random_subset:ratio=0.5";
  EXPECT_THROW(Session(config, dataset), Error);
}

TEST(Batches, RanksTakeSharesOfWhatOneProcessSees) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.recipe.crop_padding = 2;
  config.recipe.flip = true;
  config.recipe.flip_order = FlipOrder::kAlternating;
  config.recipe.cutout = 3;
  config.batch_size = 12;
  const auto split = split_dataset(dataset, config, at::kCPU);
  Batches whole(split.train, dataset, config);
  for (const int64_t size : {1, 2, 3, 12}) {
    std::vector<std::unique_ptr<Batches>> ranks;
    for (int64_t rank = 0; rank < size; ++rank) {
      ranks.push_back(std::make_unique<Batches>(split.train, dataset, config,
                                                World{.rank = rank, .size = size}));
      EXPECT_EQ(ranks.back()->per_epoch(), whole.per_epoch());
    }
    for (const int64_t step : {int64_t{0}, int64_t{1}, whole.per_epoch() + 1}) {
      std::vector<at::Tensor> x, labels;
      for (const auto& rank : ranks) {
        const auto batch = rank->at(step);
        EXPECT_EQ(batch.x.size(0), 12 / size);
        x.push_back(batch.x);
        labels.push_back(batch.labels);
      }
      // Together the whole, in order, and so nothing twice.
      EXPECT_TRUE(at::equal(at::cat(x), whole.at(step).x)) << size << " at " << step;
      EXPECT_TRUE(at::equal(at::cat(labels), whole.at(step).labels)) << size << " at " << step;
    }
  }
  EXPECT_THROW(Batches(split.train, dataset, config, World{.rank = 0, .size = 5}), Error);
}

TEST(Batches, HoldoutTrainAndTestAreDisjointAndFixed) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  const auto a = split_dataset(dataset, config, at::kCPU);
  config.seed = 9;
  const auto b = split_dataset(dataset, config, at::kCPU);
  EXPECT_EQ(a.holdout.count(), 25);
  EXPECT_EQ(a.train.count() + a.holdout.count(), 256);
  EXPECT_TRUE(at::equal(a.holdout.pixels, b.holdout.pixels));
  config.train_examples = 232;
  EXPECT_THROW(split_dataset(dataset, config, at::kCPU), Error);
}

// Which of the data set's training images a part has.
std::set<int64_t> rows_in(const DeviceImages& part, const LoadedDataset& dataset) {
  const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
  const auto rows = rows_of({normalised(part.pixels, mean, scale), part.labels}, dataset);
  return {rows.begin(), rows.end()};
}

TEST(Batches, EachSeedDrawsItsOwnSubsetOfTheTrainingPart) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.train_examples = 60;
  const auto subset = [&](SubsetKind kind, int64_t seed) {
    config.train_subset = kind;
    config.seed = seed;
    const auto split = split_dataset(dataset, config, at::kCPU);
    auto train = rows_in(split.train, dataset);
    const auto held = rows_in(split.holdout, dataset);
    EXPECT_EQ(train.size(), 60u);
    for (const auto row : train) EXPECT_FALSE(held.contains(row)) << row;
    return train;
  };
  // Runs that were stored before each seed drew its own keep theirs.
  EXPECT_EQ(subset(SubsetKind::kShared, 0), subset(SubsetKind::kShared, 7));
  const auto first = subset(SubsetKind::kSeed, 0), second = subset(SubsetKind::kSeed, 7);
  EXPECT_EQ(first, subset(SubsetKind::kSeed, 0));
  EXPECT_NE(first, subset(SubsetKind::kShared, 0));
  // Two draws of 60 out of 231 share 60 * 60 / 231 = 15.6 on average, 2.9 the standard deviation.
  std::vector<int64_t> common;
  std::set_intersection(first.begin(), first.end(), second.begin(), second.end(),
                        std::back_inserter(common));
  EXPECT_GT(common.size(), 4u);
  EXPECT_LT(common.size(), 28u);
}

// Augmentation against plain loops: every image must be one of the crops and flips of its source.
TEST(Batches, CropsFlipsAndCutoutsAreThoseOfTheSource) {
  const auto dataset = toy_dataset();
  auto config = toy_config();
  config.recipe.crop_padding = 2;
  config.recipe.flip = true;
  for (const std::string mode : {"zero", "reflect"}) {
    config.recipe.padding_mode = parse<PaddingMode>(mode, "mode");
    auto split = split_dataset(dataset, config, at::kCPU);
    const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
    auto plain_config = config;
    plain_config.recipe.crop_padding = 0;
    plain_config.recipe.flip = false;
    Batches batches(split.train, dataset, config), plain(split.train, dataset, plain_config);
    const auto x = batches.at(3).x, source = plain.at(3).x;
    EXPECT_TRUE(at::equal(batches.at(3).labels, plain.at(3).labels));
    EXPECT_TRUE(x.is_contiguous(at::MemoryFormat::ChannelsLast));
    int moved = 0, flipped = 0;
    for (int64_t i = 0; i < x.size(0); ++i) {
      const auto padded = mode == "zero"
                              ? at::constant_pad_nd(source[i].unsqueeze(0), {2, 2, 2, 2})
                              : at::reflection_pad2d(source[i].unsqueeze(0), {2, 2, 2, 2});
      bool found = false;
      for (int64_t top = 0; top < 5 && !found; ++top) {
        for (int64_t left = 0; left < 5 && !found; ++left) {
          for (const bool flip : {false, true}) {
            auto crop = padded[0].slice(1, top, top + 8).slice(2, left, left + 8);
            if (flip) crop = crop.flip({2});
            if (!at::allclose(crop, x[i])) continue;
            found = true;
            moved += top != 2 || left != 2;
            flipped += flip;
            break;
          }
        }
      }
      EXPECT_TRUE(found) << mode << " image " << i;
    }
    EXPECT_GT(moved, 8);
    EXPECT_GT(flipped, 2);
  }
  config.recipe.cutout = 3;
  auto split = split_dataset(dataset, config, at::kCPU);
  Batches batches(split.train, dataset, config);
  config.recipe.cutout = 0;
  Batches whole(split.train, dataset, config);
  const auto holes = (batches.at(3).x != whole.at(3).x).sum({1, 2, 3});
  EXPECT_LE(holes.max().item<int64_t>(), 9);
  EXPECT_GT(holes.max().item<int64_t>(), 3);
}

// By row of the training part, whether its image is mirrored in an epoch of flips alone.
std::map<int64_t, bool> mirrored_in(const RunConfig& config, const LoadedDataset& dataset,
                                    int64_t epoch) {
  const auto split = split_dataset(dataset, config, at::kCPU);
  auto plain_config = config;
  plain_config.recipe.flip = false;
  Batches batches(split.train, dataset, config), plain(split.train, dataset, plain_config);
  std::map<int64_t, bool> mirrored;
  for (int64_t step = epoch * plain.per_epoch(); step < (epoch + 1) * plain.per_epoch(); ++step) {
    const auto source = plain.at(step), seen = batches.at(step);
    const auto rows = rows_of(source, dataset);
    for (int64_t i = 0; i < source.x.size(0); ++i) {
      const bool is_mirrored = at::equal(seen.x[i], source.x[i].flip({2}));
      EXPECT_NE(is_mirrored, at::equal(seen.x[i], source.x[i]));
      mirrored[rows[static_cast<size_t>(i)]] = is_mirrored;
    }
  }
  return mirrored;
}

TEST(Batches, AlternatingFlipsMirrorEachImageInEverySecondEpoch) {
  const auto dataset = toy_dataset(64, 4);
  auto config = toy_config();
  config.split = SplitKind::kPaper;
  config.batch_size = 16;
  config.recipe.flip = true;
  config.recipe.flip_order = FlipOrder::kAlternating;
  const auto first = mirrored_in(config, dataset, 0);
  ASSERT_EQ(first.size(), 64u);
  const auto count = std::ranges::count_if(first, [](const auto& row) { return row.second; });
  EXPECT_GT(count, 20) << "half of 64, 4 the standard deviation";
  EXPECT_LT(count, 44);
  for (const int64_t epoch : {1, 2, 5}) {
    for (const auto& [row, mirrored] : mirrored_in(config, dataset, epoch)) {
      EXPECT_EQ(mirrored, first.at(row) != (epoch % 2 == 1)) << row << " in epoch " << epoch;
    }
  }
  config.seed = 1;
  EXPECT_NE(mirrored_in(config, dataset, 0), first);
  config.seed = 0;
  config.recipe.flip_order = FlipOrder::kIndependent;
  const auto drawn = mirrored_in(config, dataset, 0), again = mirrored_in(config, dataset, 1);
  int64_t same = 0;
  for (const auto& [row, mirrored] : drawn) same += mirrored == again.at(row);
  EXPECT_GT(same, 16);
  // Crops and cutouts are those of independent flips.
  config.recipe.cutout = 3;
  config.recipe.crop_padding = 1;
  const auto split = split_dataset(dataset, config, at::kCPU);
  Batches independent(split.train, dataset, config);
  config.recipe.flip_order = FlipOrder::kAlternating;
  Batches alternating(split.train, dataset, config);
  const auto a = independent.at(5).x, b = alternating.at(5).x;
  int64_t equal = 0;
  for (int64_t i = 0; i < a.size(0); ++i) equal += at::equal(a[i], b[i]);
  EXPECT_GT(equal, 0);
  EXPECT_LT(equal, a.size(0));
}

// Reflected by 2, as the CIFAR-10 speed records shift their images: every shift is as likely.
TEST(Batches, EveryShiftOfAPaddedImageIsAsLikely) {
  const auto dataset = toy_dataset(250, 4);
  auto config = toy_config();
  config.split = SplitKind::kPaper;
  config.batch_size = 250;
  config.recipe.crop_padding = 2;
  config.recipe.padding_mode = PaddingMode::kReflect;
  const auto split = split_dataset(dataset, config, at::kCPU);
  Batches batches(split.train, dataset, config);
  config.recipe.crop_padding = 0;
  Batches plain(split.train, dataset, config);
  std::map<std::pair<int64_t, int64_t>, int64_t> seen;
  for (int64_t step = 0; step < 4; ++step) {
    const auto x = batches.at(step).x;
    const auto padded = at::reflection_pad2d(plain.at(step).x, {2, 2, 2, 2});
    for (int64_t top = 0; top < 5; ++top) {
      for (int64_t left = 0; left < 5; ++left) {
        const auto crop = padded.slice(2, top, top + 8).slice(3, left, left + 8);
        seen[{top, left}] += crop.eq(x).flatten(1).all(1).sum().item<int64_t>();
      }
    }
  }
  ASSERT_EQ(seen.size(), 25u);
  int64_t all = 0;
  for (const auto& [shift, count] : seen) {
    EXPECT_GT(count, 15) << shift.first << "," << shift.second << ": 40, 6 the standard deviation";
    EXPECT_LT(count, 70);
    all += count;
  }
  EXPECT_EQ(all, 1000);
}

}  // namespace
}  // namespace approx
