// Photographs from their files to a step: what Batches and Session make of a data set whose images
// are decoded as they are needed.
#include <torch/torch.h>

#include <chrono>
#include <map>
#include <optional>
#include <thread>

#include "core/config/named_schedule.h"
#include "core/networks/network.h"
#include "core/train/accuracy_run.h"
#include "core/train/device.h"
#include "core/train/evaluation.h"
#include "core/train/session.h"
#include "tests/testing.h"

// Behind tests/testing.h, which means ::testing by `testing`.
#include "tests/core/data/photo_testing.h"

namespace approx {
namespace {

using testing::data_error_of;
using testing::TemporaryFolder;
using testing::waves;

RunConfig photo_config() {
  RunConfig config;
  config.network = "resnet14";
  config.dataset = "photos";
  config.recipe.crop = CropKind::kRandomResized;
  config.recipe.flip = true;
  config.recipe.learning_rate = 0.05;
  config.recipe.epochs = 2;
  config.batch_size = 6;
  config.threads = 2;
  return config;
}

// Three classes, each with a colour of its own among waves; so many training images of each, half
// as many test images.
LoadedDataset coloured_photos(const std::string& folder, int per_class) {
  testing::Files files;
  const std::pair<int64_t, int64_t> sizes[] = {{40, 56}, {64, 40}, {48, 48}};
  for (size_t label = 0; label < 3; ++label) {
    for (int i = 0; i < per_class + per_class / 2; ++i) {
      const auto [height, width] = sizes[static_cast<size_t>(i) % 3];
      auto raster = waves(height, width, i + 100 * static_cast<int>(label));
      for (size_t at = label; at < raster.pixels.size(); at += 3) {
        raster.pixels[at] = static_cast<uint8_t>(std::min(255, raster.pixels[at] + 90));
      }
      files.emplace_back(
          fmt::format("{}/class{}/{}.JPEG", i < per_class ? "train" : "val", label, i),
          testing::jpeg_of(raster));
    }
  }
  return testing::import_files(files, folder);
}

class PhotoBatches : public ::testing::Test {
 protected:
  TemporaryFolder folder_;
  LoadedDataset dataset_ = coloured_photos(folder_.path(), /*per_class=*/10);
};

TEST_F(PhotoBatches, AreNormalisedSquaresWithTheirLabels) {
  auto config = photo_config();
  config.split = SplitKind::kPaper;
  const auto split = split_dataset(dataset_, config, at::kCPU);
  EXPECT_EQ(split.train.count(), 30);
  EXPECT_EQ(split.test.count(), 15);
  EXPECT_EQ(split.holdout.count(), 0);
  Batches batches(split.train, dataset_, config);
  EXPECT_EQ(batches.per_epoch(), 5);
  std::map<int64_t, int> seen;
  for (int64_t step = 0; step < 5; ++step) {
    const auto batch = batches.at(step);
    ASSERT_EQ(batch.x.sizes(), (std::vector<int64_t>{6, 3, 32, 32}));
    EXPECT_EQ(batch.x.scalar_type(), at::kFloat);
    EXPECT_TRUE(batch.x.is_contiguous(at::MemoryFormat::ChannelsLast));
    for (int64_t i = 0; i < 6; ++i) {
      const auto label = batch.labels[i].item<int64_t>();
      ++seen[label];
      // The brightest channel is that of the class: images and labels belong together.
      EXPECT_EQ(batch.x[i].mean({1, 2}).argmax().item<int64_t>(), label);
    }
  }
  EXPECT_EQ(seen, (std::map<int64_t, int>{{0, 10}, {1, 10}, {2, 10}}));
  EXPECT_TRUE(batches.take_wait_ns().has_value());
  EXPECT_EQ(batches.take_wait_ns(), 0);
}

TEST_F(PhotoBatches, AreAFunctionOfSeedAndStepAlone) {
  auto config = photo_config();
  const auto split = split_dataset(dataset_, config, at::kCPU);
  Batches first(split.train, dataset_, config);
  std::vector<Batch> seen;
  for (int64_t step = 0; step < 12; ++step) seen.push_back(first.at(step));
  for (const int64_t threads : {1, 4, 8}) {
    config.threads = threads;
    const auto again = split_dataset(dataset_, config, at::kCPU);
    Batches batches(again.train, dataset_, config);
    for (int64_t step = threads; step < 12; ++step) {  // from a step in the middle on
      const auto batch = batches.at(step);
      EXPECT_TRUE(at::equal(batch.x, seen[static_cast<size_t>(step)].x)) << step;
      EXPECT_TRUE(at::equal(batch.labels, seen[static_cast<size_t>(step)].labels)) << step;
    }
  }
  EXPECT_TRUE(at::equal(first.at(11).x, seen[11].x)) << "asked for twice";
  config.seed = 1;
  Batches other(split.train, dataset_, config);
  EXPECT_FALSE(at::equal(other.at(0).x, seen[0].x));
}

// Not what is done with them then: on a GPU that is the device's time.
TEST_F(PhotoBatches, WaitForPhotographsAlone) {
  auto config = photo_config();
  config.split = SplitKind::kPaper;
  config.recipe.image_size = 128;
  config.batch_size = 30;
  const auto split = split_dataset(dataset_, config, at::kCPU);
  Batches batches(split.train, dataset_, config);
  double least_share = 1;
  for (int64_t step = 0; step < 5; ++step) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));  // it is prepared meanwhile
    const auto before = std::chrono::steady_clock::now();
    batches.at(step);
    const auto whole = std::chrono::steady_clock::now() - before;
    const auto share = static_cast<double>(*batches.take_wait_ns()) /
                       static_cast<double>(std::chrono::nanoseconds(whole).count());
    EXPECT_GT(share, 0);
    if (step > 0) least_share = std::min(least_share, share);
  }
  EXPECT_LT(least_share, 0.5);
}

// A GPU copies what is sent to it later than the host goes on, which fills the buffers anew.
TEST_F(PhotoBatches, OfCudaAreThoseOfTheCpuAndWaitForNoStep) {
  std::optional<at::Device> gpu;
  try {
    gpu = open_device(DeviceKind::kCuda);
  } catch (const Error& error) {
    GTEST_SKIP() << error.what();
  }
  auto config = photo_config();
  config.recipe.cutout = 8;
  const auto near = split_dataset(dataset_, config, at::kCPU);
  const auto far = split_dataset(dataset_, config, *gpu);
  Batches here(near.train, dataset_, config), there(far.train, dataset_, config);
  const auto wide = at::ones({8192, 8192}, at::TensorOptions().device(*gpu));
  constexpr int64_t kSteps = 4;  // an epoch
  ASSERT_EQ(there.per_epoch(), kSteps);
  std::vector<Batch> seen;
  // The first epoch finds memory for what is on its way, for which the host may wait.
  for (int64_t epoch = 0; epoch < 2; ++epoch) {
    seen.push_back(there.at(epoch * kSteps));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    synchronize_device(*gpu);
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < 40; ++i) wide.mm(wide);  // a tenth of a second and more
    for (int64_t step = 1; step < kSteps; ++step) {
      seen.push_back(there.at(epoch * kSteps + step));
    }
    const auto asked = std::chrono::steady_clock::now();
    synchronize_device(*gpu);
    const auto done = std::chrono::steady_clock::now();
    if (epoch > 0) {
      EXPECT_LT(asked - before, (done - before) / 2);
    }
  }
  for (size_t step = 0; step < seen.size(); ++step) {
    const auto wanted = here.at(static_cast<int64_t>(step));
    EXPECT_TRUE(at::allclose(seen[step].x.cpu(), wanted.x)) << step;
    EXPECT_TRUE(at::equal(seen[step].labels.cpu(), wanted.labels)) << step;
  }
}

TEST_F(PhotoBatches, HeldOutImagesAreNotTrainedOn) {
  const auto config = photo_config();
  const auto split = split_dataset(dataset_, config, at::kCPU);
  EXPECT_EQ(split.holdout.count(), 3);
  auto rows = split.train.photos->rows;
  rows.insert(rows.end(), split.holdout.photos->rows.begin(), split.holdout.photos->rows.end());
  std::sort(rows.begin(), rows.end());
  for (size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(rows[i], static_cast<int64_t>(i));
  EXPECT_EQ(rows.size(), 30u);
}

TEST_F(PhotoBatches, CutoutBlanksASquare) {
  auto config = photo_config();
  const auto split = split_dataset(dataset_, config, at::kCPU);
  Batches whole(split.train, dataset_, config);
  config.recipe.cutout = 8;
  Batches blanked(split.train, dataset_, config);
  const auto a = whole.at(0).x, b = blanked.at(0).x;
  for (int64_t i = 0; i < 6; ++i) {
    const auto hole = (b[i] == 0).all(0);
    EXPECT_GE(hole.sum().item<int64_t>(), 16);  // a corner of it at least
    EXPECT_LE(hole.sum().item<int64_t>(), 64);
    EXPECT_TRUE(at::equal(a[i].masked_fill(hole, 0), b[i]));
  }
}

TEST_F(PhotoBatches, RanksTakeSharesOfWhatOneProcessSees) {
  auto config = photo_config();
  config.recipe.cutout = 8;
  const auto split = split_dataset(dataset_, config, at::kCPU);
  Batches whole(split.train, dataset_, config);
  Batches first(split.train, dataset_, config, {.rank = 0, .size = 2}),
      second(split.train, dataset_, config, {.rank = 1, .size = 2});
  for (const int64_t step : {0, 1, 5}) {
    const auto a = first.at(step), b = second.at(step), both = whole.at(step);
    EXPECT_TRUE(at::equal(at::cat({a.x, b.x}), both.x)) << step;
    EXPECT_TRUE(at::equal(at::cat({a.labels, b.labels}), both.labels)) << step;
  }
}

// What is cut out of their middles is the same in all epochs.
TEST_F(PhotoBatches, AlternatingFlipsMirrorEachImageInEverySecondEpoch) {
  auto config = photo_config();
  config.split = SplitKind::kPaper;
  config.recipe.crop = CropKind::kPadded;
  config.recipe.flip_order = FlipOrder::kAlternating;
  const auto split = split_dataset(dataset_, config, at::kCPU);
  const auto epoch_of = [&](bool flips, int64_t epoch) {
    config.recipe.flip = flips;
    Batches batches(split.train, dataset_, config);
    std::vector<at::Tensor> images;
    for (int64_t step = 0; step < batches.per_epoch(); ++step) {
      images.push_back(batches.at(epoch * batches.per_epoch() + step).x);
    }
    return at::cat(images);  // [30,3,32,32]
  };
  const auto first = epoch_of(true, 0), second = epoch_of(true, 1), third = epoch_of(true, 2);
  const auto is_in = [](const at::Tensor& image, const at::Tensor& images) {
    return images.eq(image).flatten(1).all(1).any().item<bool>();
  };
  int64_t mirrored = 0;
  const auto plain = epoch_of(false, 0);
  for (int64_t i = 0; i < first.size(0); ++i) {
    EXPECT_TRUE(is_in(first[i].flip({2}), second)) << i;
    EXPECT_FALSE(is_in(first[i], second)) << i;
    EXPECT_TRUE(is_in(first[i], third)) << i;
    mirrored += !at::equal(first[i], plain[i]);
  }
  EXPECT_GT(mirrored, 5) << "half of 30";
  EXPECT_LT(mirrored, 25);
}

TEST_F(PhotoBatches, GrowWithTheEpochs) {
  auto config = photo_config();
  config.recipe.start_size = 32;
  config.recipe.image_size = 64;
  config.recipe.grow_until = 2;
  const auto split = split_dataset(dataset_, config, at::kCPU);
  Batches batches(split.train, dataset_, config);
  const int64_t per_epoch = batches.per_epoch();
  EXPECT_EQ(batches.at(0).x.size(2), 32);
  EXPECT_EQ(batches.at(per_epoch).x.size(2), 64);  // 48 is rounded to even
  EXPECT_EQ(batches.at(2 * per_epoch).x.size(2), 64);
  EXPECT_EQ(batches.at(per_epoch - 1).x.size(2), 32);
}

// All that is computed, of images of every size; a method that keeps everything leaves out nothing.
TEST_F(PhotoBatches, LayersCountTheSizesThatTheyHad) {
  auto config = photo_config();
  config.recipe.image_size = 64;
  double of_size[2] = {};
  for (const bool grows : {false, true}) {
    config.recipe.start_size = grows ? 32 : 0;
    config.recipe.grow_until = grows ? 2 : 0;
    config.method = "topk_crs:ratio=1,mode=backward";
    config.schedule = make_schedule("slice:layers=2::2");
    Session session(config, dataset_);
    while (session.steps_done() < 2 * session.steps_per_epoch()) session.step();
    for (const auto& event : session.layer_events()) {
      if (event["event"] != "layer") continue;
      EXPECT_EQ(event["macs_done"], event["macs_dense"]) << event.dump();
      if (event["layer"] == "conv1") of_size[grows] += event["macs_dense"].get<double>();
    }
  }
  // One of two epochs at half the size.
  EXPECT_EQ(of_size[true], of_size[false] * (1 + 0.25) / 2);
}

TEST_F(PhotoBatches, EvaluationSeesTheCentresInOrder) {
  auto config = photo_config();
  config.recipe.eval_size = 28;
  const auto split = split_dataset(dataset_, config, at::kCPU);
  const auto [mean, scale] = pixel_statistics(dataset_, at::kCPU);
  EvalBatches batches(split.test, mean, scale);
  ASSERT_EQ(batches.count(), 1);
  const auto batch = batches.at(0);
  ASSERT_EQ(batch.x.sizes(), (std::vector<int64_t>{15, 3, 28, 28}));
  for (int64_t i = 0; i < 15; ++i) {
    EXPECT_EQ(batch.labels[i].item<int64_t>(), dataset_.test.labels[static_cast<size_t>(i)]);
    Raster expected;
    expected.resize(28, 28);
    PhotoViewer().render(dataset_.test.photos.file(i), "x", {.size = 28}, expected.pixels.data());
    const auto pixels = at::from_blob(expected.pixels.data(), {1, 28, 28, 3}, at::kByte);
    EXPECT_TRUE(at::equal(batch.x[i], normalised(pixels, mean, scale)[0]));
  }
}

// The filter is LibTorch's, which is torchvision's.
TEST(Resample, IsTheAntialiasedBilinearFilterOfLibTorch) {
  const auto source = waves(50, 70);
  const auto planes =
      at::from_blob(const_cast<uint8_t*>(source.pixels.data()), {1, 50, 70, 3}, at::kByte)
          .to(at::kDouble)
          .permute({0, 3, 1, 2});
  for (const auto& [height, width] : {std::pair{16, 16}, {25, 35}, {49, 69}, {64, 100}, {1, 1}}) {
    Raster result;
    result.resize(height, width);
    Resampler()(source, {0, 0, 50, 70}, height, width, /*mirrored=*/false, result.pixels.data());
    const auto expected =
        at::_upsample_bilinear2d_aa(planes, {height, width}, false)[0].permute({1, 2, 0});
    const auto found = at::from_blob(result.pixels.data(), {height, width, 3}, at::kByte);
    EXPECT_LE((found.to(at::kDouble) - expected).abs().max().item<double>(), 0.51)
        << height << "x" << width;
  }
}

// More than one batch of an evaluation: 96 images, in batches of 64.
TEST(PhotoEvaluation, ItsLastBatchMayBeSmaller) {
  const TemporaryFolder folder;
  const auto dataset = coloured_photos(folder.path(), /*per_class=*/64);
  const auto split = split_dataset(dataset, photo_config(), at::kCPU);
  const auto [mean, scale] = pixel_statistics(dataset, at::kCPU);
  EvalBatches batches(split.test, mean, scale);
  ASSERT_EQ(batches.count(), 2);
  EXPECT_EQ(batches.at(0).x.size(0), 64);
  EXPECT_EQ(batches.at(1).x.size(0), 32);
  EXPECT_EQ(batches.at(1).labels.size(0), 32);
}

TEST_F(PhotoBatches, SessionsRefuseSizesThatTheirNetworkCannotTake) {
  auto config = photo_config();
  config.network = "small_cnn";  // no global pooling: one size
  EXPECT_NO_THROW(Session(config, dataset_));
  config.recipe.eval_size = 48;
  try {
    Session session(config, dataset_);
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_NE(std::string(error.what()).find("built for images of 32x32 and cannot take 48x48"),
              std::string::npos)
        << error.what();
  }
  config.network = "resnet14";
  const Session session(config, dataset_);
  config.recipe.eval_size = 0;
  EXPECT_EQ(session.network().macs(), Session(config, dataset_).network().macs())
      << "those of the training size";
}

TEST_F(PhotoBatches, RunsLearnAndTellHowLongTheyWaited) {
  const TemporaryFolder folder;
  const auto dataset = coloured_photos(folder.path(), /*per_class=*/30);
  auto config = photo_config();
  config.recipe.epochs = 10;
  config.recipe.image_size = 16;
  config.recipe.start_size = 8;
  config.recipe.grow_from = 1;
  config.recipe.grow_until = 3;
  config.batch_size = 9;
  const auto run = [&] {
    std::vector<Json> metrics;
    const std::atomic<bool> stop = false;
    run_accuracy(
        config, dataset, {},
        [&](const Json& event) {
          if (event.at("event") == "metric") metrics.push_back(event);
        },
        stop);
    return metrics;
  };
  std::vector<double> accuracies, waits;
  for (const auto& event : run()) {
    if (event["name"] == "accuracy" && event["split"] == "test") {
      accuracies.push_back(event["value"]);
    }
    if (event["name"] == "data_wait") waits.push_back(event["value"]);
  }
  ASSERT_EQ(accuracies.size(), 10u);
  EXPECT_GE(accuracies.back(), 0.9);  // a third by guessing
  ASSERT_EQ(waits.size(), 10u);
  for (const double wait : waits) {
    EXPECT_GT(wait, 0);
    EXPECT_LE(wait, 1);
  }
  // Equal but for the clock, with methods and all.
  const auto results = [&] {
    std::vector<std::string> texts;
    for (auto event : run()) {
      if (event["name"] == "data_wait") continue;
      event.erase("train_ns");
      texts.push_back(event.dump());
    }
    return texts;
  };
  config.network = "small_cnn";
  config.recipe.epochs = 2;
  config.recipe.start_size = config.recipe.grow_from = config.recipe.grow_until = 0;
  config.method = "topk_position";
  config.schedule = make_schedule("slice:layers=2::2");
  EXPECT_EQ(results(), results());
}

TEST_F(PhotoBatches, ADamagedPhotographEndsTheRunWithItsName) {
  auto bytes = read_file(folder_ / "photos.packed", 1 << 26);
  for (size_t at = bytes.size() - 20'000; at < bytes.size(); ++at) bytes[at] = 0;
  testing::write_bytes(folder_ / "photos.packed", bytes);
  EXPECT_THROW(open_packed(folder_ / "photos.packed", /*verify=*/true), Error);
  const auto damaged = open_packed(folder_ / "photos.packed", /*verify=*/false);
  Session session(photo_config(), damaged);
  Evaluation evaluation(photo_config(), damaged, session);
  const auto message = data_error_of([&] { evaluation.score(session.split().test); });
  EXPECT_NE(message.find("photos.packed: test image "), std::string::npos) << message;
}

}  // namespace
}  // namespace approx
