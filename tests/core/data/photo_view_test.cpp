#include "core/data/photo_view.h"

#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

const Rng kRng{.seed = 3, .step = 17, .stream = kAugmentStream};

TEST(RandomResizedBox, StaysInsideAndInItsRanges) {
  const CropRanges ranges;
  double least = 1, most = 0, narrowest = 10, widest = 0;
  for (uint32_t i = 0; i < 4000; ++i) {
    const auto box = random_resized_box(240, 300, ranges, kRng, i);
    ASSERT_GE(box.top, 0);
    ASSERT_GE(box.left, 0);
    ASSERT_LE(box.top + box.height, 240);
    ASSERT_LE(box.left + box.width, 300);
    ASSERT_EQ(box.height, std::floor(box.height));
    ASSERT_EQ(box.left, std::floor(box.left));
    const double share = box.height * box.width / (240 * 300), ratio = box.width / box.height;
    least = std::min(least, share);
    most = std::max(most, share);
    narrowest = std::min(narrowest, ratio);
    widest = std::max(widest, ratio);
  }
  // Rounding to whole pixels moves the ends a little.
  EXPECT_NEAR(least, 0.08, 0.01);
  EXPECT_GT(most, 0.97);
  EXPECT_NEAR(narrowest, 0.75, 0.03);
  EXPECT_NEAR(widest, 4.0 / 3, 0.05);
}

// The mean share of the area over all draws that fit; for a square image and ratio 1 all do.
TEST(RandomResizedBox, DrawsTheAreaUniformly) {
  const CropRanges ranges{.scale_min = 0.2, .scale_max = 0.8, .ratio_min = 1};
  double sum = 0;
  int below = 0;
  constexpr int kDraws = 4000;
  for (uint32_t i = 0; i < kDraws; ++i) {
    const auto box = random_resized_box(1000, 1000, ranges, kRng, i);
    EXPECT_EQ(box.height, box.width);
    const double share = box.height * box.width / 1e6;
    sum += share;
    below += share < 0.35;
  }
  EXPECT_NEAR(sum / kDraws, 0.5, 0.02);
  EXPECT_NEAR(below / double{kDraws}, 0.25, 0.03);
}

TEST(RandomResizedBox, WhatNeverFitsIsTheMiddleWithinTheRatio) {
  // A whole image of 1000x10 has no rectangle of that area with a ratio near 1.
  const CropRanges ranges{.scale_min = 1, .scale_max = 1};
  const auto tall = random_resized_box(1000, 10, ranges, kRng, 0);
  EXPECT_EQ(tall.width, 10);
  EXPECT_EQ(tall.height, 13);
  EXPECT_EQ(tall.top, 493);
  const auto wide = random_resized_box(10, 1000, ranges, kRng, 0);
  EXPECT_EQ(wide.height, 10);
  EXPECT_EQ(wide.width, 13);
  const auto point = random_resized_box(1, 1, {}, kRng, 0);
  EXPECT_EQ(point.height, 1);
  EXPECT_EQ(point.width, 1);
}

TEST(RandomResizedBox, EachImageAndStepHasItsOwn) {
  const auto box = [](const Rng& rng, uint32_t i) {
    const auto b = random_resized_box(500, 500, {}, rng, i);
    return std::array{b.top, b.left, b.height, b.width};
  };
  EXPECT_EQ(box(kRng, 5), box(kRng, 5));
  EXPECT_NE(box(kRng, 5), box(kRng, 6));
  auto other = kRng;
  other.step = 18;
  EXPECT_NE(box(kRng, 5), box(other, 5));
}

TEST(CentreBox, IsWhatResizingTo256AndCutting224Leaves) {
  const auto box = centre_box(256, 341, 224);
  EXPECT_DOUBLE_EQ(box.height, 224);
  EXPECT_DOUBLE_EQ(box.width, 224);
  EXPECT_DOUBLE_EQ(box.top, 16);
  EXPECT_DOUBLE_EQ(box.left, 58.5);
  EXPECT_DOUBLE_EQ(centre_box(512, 512, 224).height, 448);
}

Raster rendered(const Buffer& file, const PhotoView& view) {
  Raster out;
  out.resize(view.size, view.size);
  PhotoViewer().render(file, "x", view, out.pixels.data());
  return out;
}

// Decoding at a fraction and scaling is close to scaling the whole.
TEST(PhotoViewer, ShowsTheBoxOfTheImage) {
  const auto file = jpeg_of(waves(300, 400));
  const auto whole = decoded(file);
  for (const int64_t size : {16, 32, 64, 224, 300}) {
    for (const bool random : {false, true}) {
      for (uint32_t index = 0; index < 6; ++index) {
        const PhotoView view{.size = size, .random = random, .rng = kRng, .index = index};
        const auto box =
            random ? random_resized_box(300, 400, {}, kRng, index) : centre_box(300, 400, size);
        Raster expected;
        expected.resize(size, size);
        Resampler()(whole, box, size, size, false, expected.pixels.data());
        EXPECT_LE(largest_difference(rendered(file, view).pixels, expected.pixels), 12)
            << size << " " << random << " " << index;
      }
    }
  }
}

TEST(PhotoViewer, FlipsHalf) {
  const auto file = jpeg_of(waves(64, 64));
  int flipped = 0;
  for (uint32_t i = 0; i < 200; ++i) {
    PhotoView view{.size = 8, .random = true, .rng = kRng, .index = i};
    const auto plain = rendered(file, view);
    view.may_flip = true;
    const auto seen = rendered(file, view);
    if (seen.pixels == plain.pixels) continue;
    ++flipped;
    EXPECT_EQ(seen.pixels[0], plain.pixels[3 * 7]);
  }
  EXPECT_GT(flipped, 70);
  EXPECT_LT(flipped, 130);
}

}  // namespace
}  // namespace approx::testing
