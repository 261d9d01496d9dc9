#include "core/data/resample.h"

#include "kernels/rng.h"
#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

// The definition: each result is the mean of all pixels of the box under a triangle around its
// place.
std::vector<double> reference(const Raster& source, const Box& box, int64_t height, int64_t width) {
  const auto weight = [](double pixel, double start, double length, int64_t results, int64_t i) {
    const double step = length / static_cast<double>(results);
    const double centre = start + (static_cast<double>(i) + 0.5) * step;
    return std::max(0.0, 1 - std::abs(pixel + 0.5 - centre) / std::max(1.0, step));
  };
  std::vector<double> out;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      double sum[3] = {}, weights = 0;
      for (int64_t row = 0; row < source.height; ++row) {
        const auto r = static_cast<double>(row);
        if (r + 1 <= box.top || r >= box.top + box.height) continue;
        for (int64_t column = 0; column < source.width; ++column) {
          const auto c = static_cast<double>(column);
          if (c + 1 <= box.left || c >= box.left + box.width) continue;
          const double w =
              weight(r, box.top, box.height, height, y) * weight(c, box.left, box.width, width, x);
          weights += w;
          for (size_t k = 0; k < 3; ++k) {
            sum[k] += w * source.pixels[static_cast<size_t>(3 * (row * source.width + column)) + k];
          }
        }
      }
      for (const double value : sum) out.push_back(value / weights);
    }
  }
  return out;
}

// Noise, which shows every weight that is wrong.
Raster noise(int64_t height, int64_t width) {
  Raster raster;
  raster.resize(height, width);
  for (size_t i = 0; i < raster.pixels.size(); ++i) {
    const Rng rng{.seed = 5};
    raster.pixels[i] = static_cast<uint8_t>(rng.block(static_cast<uint32_t>(i))[0]);
  }
  return raster;
}

Raster resampled(const Raster& source, const Box& box, int64_t height, int64_t width,
                 bool mirrored = false) {
  Raster out;
  out.resize(height, width);
  Resampler()(source, box, height, width, mirrored, out.pixels.data());
  return out;
}

TEST(Resample, AgreesWithItsDefinition) {
  struct Case {
    int64_t height, width;
    Box box;
    int64_t new_height, new_width;
  };
  for (const auto& c : std::vector<Case>{{17, 23, {0, 0, 17, 23}, 17, 23},
                                         {17, 23, {0, 0, 17, 23}, 8, 8},
                                         {17, 23, {0, 0, 17, 23}, 31, 40},
                                         {17, 23, {3, 5, 9, 11}, 7, 5},
                                         {17, 23, {3.25, 5.5, 9.125, 11.75}, 16, 16},
                                         {17, 23, {0.5, 0.25, 3, 2.5}, 33, 9},
                                         {17, 23, {15.5, 22.5, 0.5, 0.25}, 4, 4},
                                         {1, 1, {0, 0, 1, 1}, 5, 3},
                                         {1, 40, {0, 2, 1, 37}, 6, 6},
                                         {64, 3, {1, 0, 63, 3}, 1, 1}}) {
    const auto source = noise(c.height, c.width);
    const auto expected = reference(source, c.box, c.new_height, c.new_width);
    const auto result = resampled(source, c.box, c.new_height, c.new_width);
    for (size_t i = 0; i < expected.size(); ++i) {
      ASSERT_NEAR(result.pixels[i], expected[i], 0.51)
          << c.height << "x" << c.width << " to " << c.new_height << "x" << c.new_width << " at "
          << i;
    }
  }
}

TEST(Resample, KeepsWhatIsNotScaledAndWhatIsOneColour) {
  const auto source = noise(19, 13);
  EXPECT_EQ(resampled(source, {0, 0, 19, 13}, 19, 13).pixels, source.pixels);
  Raster white;
  white.resize(50, 60);
  std::fill(white.pixels.begin(), white.pixels.end(), 255);
  EXPECT_EQ(resampled(white, {1.5, 2.25, 40, 30}, 16, 16).pixels, Buffer(16 * 16 * 3, 255));
}

TEST(Resample, MirrorsLeftToRight) {
  const auto source = noise(20, 30);
  const Box box{2, 3, 15, 21};
  const auto plain = resampled(source, box, 8, 9), mirrored = resampled(source, box, 8, 9, true);
  for (size_t y = 0; y < 8; ++y) {
    for (size_t x = 0; x < 9; ++x) {
      for (size_t c = 0; c < 3; ++c) {
        EXPECT_EQ(mirrored.pixels[3 * (9 * y + x) + c], plain.pixels[3 * (9 * y + 8 - x) + c]);
      }
    }
  }
}

// Nothing of outside the box shows, as if it had been cut out before.
TEST(Resample, LooksAtTheBoxAlone) {
  auto source = noise(30, 30);
  const Box box{10, 8, 12, 15};
  const auto before = resampled(source, box, 7, 7);
  for (int64_t y = 0; y < 30; ++y) {
    for (int64_t x = 0; x < 30; ++x) {
      const bool inside = y >= 10 && y < 22 && x >= 8 && x < 23;
      if (!inside) source.pixels[static_cast<size_t>(3 * (30 * y + x))] ^= 0x80;
    }
  }
  EXPECT_EQ(resampled(source, box, 7, 7).pixels, before.pixels);
}

}  // namespace
}  // namespace approx::testing
