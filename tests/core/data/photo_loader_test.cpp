#include "core/data/photo_loader.h"

#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

constexpr int64_t kBatch = 5, kSize = 24;

class PhotoLoaderTest : public ::testing::Test {
 protected:
  PhotoLoaderTest() : dataset_(import_files(photo_files(), folder_.path())) {}

  // Five images of the eight, another five in every step, sizes that change.
  static PhotoBatchPlan plan(int64_t step) {
    PhotoBatchPlan plan;
    for (int64_t i = 0; i < kBatch; ++i) plan.images.push_back((3 * step + i) % 8);
    plan.view = {.size = kSize + 8 * (step / 4 % 2),
                 .random = true,
                 .may_flip = true,
                 .rng = {.seed = 1, .step = static_cast<uint64_t>(step), .stream = kAugmentStream}};
    return plan;
  }

  // What a batch must be, made here image by image.
  Buffer expected(int64_t step) const {
    const auto p = plan(step);
    Buffer pixels;
    for (uint32_t i = 0; i < kBatch; ++i) {
      Buffer image(static_cast<size_t>(p.view.size * p.view.size * 3));
      auto view = p.view;
      view.index = i;
      PhotoViewer().render(dataset_.train.photos.file(p.images[i]), "x", view, image.data());
      append(pixels, image);
    }
    return pixels;
  }

  static Buffer pixels(const PhotoLoader::Batch& batch) {
    EXPECT_EQ(batch.count, kBatch);
    return {batch.pixels.begin(), batch.pixels.end()};
  }

  TemporaryFolder folder_;
  LoadedDataset dataset_;
};

TEST_F(PhotoLoaderTest, BatchesAreTheSameForAnyNumberOfWorkersAndBatchesAhead) {
  for (const int64_t workers : {1, 2, 4}) {
    for (const int64_t ahead : {1, 2, 5}) {
      PhotoLoader loader(dataset_.train, plan, workers, ahead);
      for (int64_t step = 0; step < 12; ++step) {
        ASSERT_EQ(pixels(loader.at(step)), expected(step))
            << workers << " " << ahead << " " << step;
      }
    }
  }
}

TEST_F(PhotoLoaderTest, AnyStepCanBeAskedForInAnyOrder) {
  PhotoLoader loader(dataset_.train, plan, 2, 2);
  for (const int64_t step : {7, 8, 8, 10, 3, 4, 100, 0, 1, 2, 2, 5, 6}) {
    ASSERT_EQ(pixels(loader.at(step)), expected(step)) << step;
  }
}

TEST_F(PhotoLoaderTest, ARestartAtAStepSeesWhatTheFirstRunSaw) {
  PhotoLoader first(dataset_.train, plan, 2, 3);
  std::vector<Buffer> seen;
  for (int64_t step = 0; step < 9; ++step) seen.push_back(pixels(first.at(step)));
  PhotoLoader second(dataset_.train, plan, 3, 1);
  for (int64_t step = 4; step < 9; ++step) {
    EXPECT_EQ(pixels(second.at(step)), seen[static_cast<size_t>(step)]);
  }
}

TEST_F(PhotoLoaderTest, CanBeGivenUpAtAnyMoment) {
  for (int64_t steps = 0; steps < 4; ++steps) {
    PhotoLoader loader(dataset_.train, plan, 4, 4);
    for (int64_t step = 0; step < steps; ++step) loader.at(step);
  }
}

TEST_F(PhotoLoaderTest, EndsWhereThePlansEnd) {
  PhotoLoader loader(
      dataset_.train, [](int64_t step) { return step < 3 ? plan(step) : PhotoBatchPlan{}; }, 2, 4);
  for (int64_t step = 0; step < 3; ++step) EXPECT_EQ(pixels(loader.at(step)), expected(step));
  EXPECT_THROW(loader.at(3), Error);
}

TEST_F(PhotoLoaderTest, ADamagedPhotographEndsItsStepAndNoOther) {
  // Image 2 is cut short inside the mapped file's copy.
  auto set = dataset_.train;
  Buffer bytes(set.photos.bytes.begin(), set.photos.bytes.end());
  for (int64_t at = set.photos.starts[2] + 200; at < set.photos.starts[3]; ++at) {
    bytes[static_cast<size_t>(at)] = 0;
  }
  set.photos.bytes = bytes;
  const auto one = [](int64_t step) {
    auto p = plan(step);
    p.images = {0, step % 8, (step + 1) % 8};
    return p;
  };
  PhotoLoader loader(set, one, 3, 3);
  for (int64_t step = 0; step < 8; ++step) {
    if (step != 1 && step != 2) {
      EXPECT_EQ(loader.at(step).count, 3);
      continue;
    }
    for (int repeat = 0; repeat < 2; ++repeat) {
      EXPECT_CONTAINS(data_error_of([&] { loader.at(step); }), "photos.packed: training image 2: ");
    }
  }
}

}  // namespace
}  // namespace approx::testing
