// The real photographs: ten classes of ImageNet, shorter side 224.
#include <filesystem>

#include "core/data/photo_loader.h"
#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

// The archive lies in pieces beside each other.
std::string whole_archive(const TemporaryFolder& folder) {
  std::ofstream whole(folder / "imagenette224.tar.gz", std::ios::binary);
  for (int part = 0; part < 3; ++part) {
    std::ifstream piece(
        fmt::format("{}/imagenette224/imagenette224.tar.gz.part{}", real_data(), part),
        std::ios::binary);
    EXPECT_TRUE(piece) << part;
    whole << piece.rdbuf();
  }
  return folder / "imagenette224.tar.gz";
}

TEST(Imagenette, IsImportedAndDecoded) {
  if (real_data().empty() || !fs::exists(real_data() + "/imagenette224")) {
    GTEST_SKIP() << "APPROXTRAIN_TEST_DATA is not set or has no imagenette224";
  }
  const TemporaryFolder folder;
  const auto dataset = import_dataset("imagenette224", whole_archive(folder), folder / "data");
  EXPECT_EQ(dataset.train.count, 9469);
  EXPECT_EQ(dataset.test.count, 3925);
  EXPECT_EQ(dataset.variant, "original files");
  EXPECT_FALSE(dataset.lossy);
  EXPECT_EQ(dataset.class_names.front(), "n01440764");
  // Means near those of all of ImageNet. The deviations that go around for it, 0.229, 0.224, 0.225,
  // are smaller than those over all pixels.
  const double mean[] = {0.485, 0.456, 0.406}, stddev[] = {0.28, 0.28, 0.30};
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(dataset.mean[c], mean[c], 0.03);
    EXPECT_NEAR(dataset.stddev[c], stddev[c], 0.02);
  }
  int64_t grey = 0;
  for (int64_t i = 0; i < dataset.train.count; ++i) {
    const auto header = read_photo_header(dataset.train.photos.file(i), "x");
    ASSERT_EQ(header.shorter_side(), 224) << i;
    grey += header.kind == PhotoHeader::Kind::kGreyJpeg;
  }
  EXPECT_GT(grey, 0);
  EXPECT_LT(grey, 1000);
  // One epoch of crops: every photograph can be decoded as training does.
  const auto plan = [](int64_t step) {
    PhotoBatchPlan p;
    for (int64_t i = 128 * step; i < std::min<int64_t>(9469, 128 * (step + 1)); ++i) {
      p.images.push_back(i);
    }
    p.view = {.size = 64,
              .random = true,
              .may_flip = true,
              .rng = {.seed = 1, .step = static_cast<uint64_t>(step), .stream = kAugmentStream}};
    return p;
  };
  PhotoLoader loader(dataset.train, plan, 2, 2);
  for (int64_t step = 0; 128 * step < 9469; ++step) {
    const auto batch = loader.at(step);
    const auto [low, high] = std::minmax_element(batch.pixels.begin(), batch.pixels.end());
    EXPECT_LT(*low, 10);
    EXPECT_GT(*high, 245);
  }
}

}  // namespace
}  // namespace approx::testing
