// Photographs made for a test: pictures whose content tells where it was cut, in every encoding
// that an image folder may hold.
#pragma once

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "core/data/dataset.h"
#include "core/data/packed.h"
#include "core/data/photo_import.h"
#include "tests/core/data/archive_testing.h"
#include "tests/core/data/image_testing.h"

namespace approx::testing {

// Smooth waves with a phase of their own: no two crops are alike, and JPEG changes little.
inline Raster waves(int64_t height, int64_t width, int phase = 0) {
  Raster raster;
  raster.resize(height, width);
  size_t at = 0;
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      for (int c = 0; c < 3; ++c) {
        const double wave = std::sin(0.05 * static_cast<double>(x) + 0.9 * phase + c) +
                            std::cos(0.04 * static_cast<double>(y) - 0.7 * phase);
        raster.pixels[at++] = static_cast<uint8_t>(128 + 60 * wave);
      }
    }
  }
  return raster;
}

inline Buffer jpeg_of(const Raster& raster, int flags = 0) {
  return jpeg(raster.pixels, static_cast<int>(raster.width), static_cast<int>(raster.height),
              TJPF_RGB, flags);
}

inline Raster decoded(const Buffer& file, int64_t shrink = 1) {
  Raster raster;
  decode_photo(file, read_photo_header(file, "x"), "x", shrink, raster);
  return raster;
}

inline int largest_difference(const std::vector<uint8_t>& a, const std::vector<uint8_t>& b) {
  EXPECT_EQ(a.size(), b.size());
  int worst = 0;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    worst = std::max(worst, std::abs(int{a[i]} - int{b[i]}));
  }
  return worst;
}

using Files = std::vector<std::pair<std::string, Buffer>>;

// Two classes in three sizes, so many training images of each and two test images.
inline Files photo_files(int per_class = 4) {
  Files files = {{"README", bytes_of("not an image")}};
  const std::pair<int64_t, int64_t> sizes[] = {{40, 56}, {64, 40}, {48, 48}};
  int phase = 0;
  for (const std::string name : {"n01", "n02"}) {
    for (int i = 0; i < per_class + 2; ++i) {
      const auto [height, width] = sizes[static_cast<size_t>(i) % 3];
      const auto part = i < per_class ? "train/" : "val/";
      files.emplace_back(part + name + "/" + std::to_string(i) + ".JPEG",
                         jpeg_of(waves(height, width, ++phase)));
    }
  }
  return files;
}

// Imports files as a data set "photos" of images of 32x32 with shorter sides of at most `side`.
inline LoadedDataset import_files(const Files& files, const std::string& folder, int64_t side = 48,
                                  const ImportOptions& options = {}) {
  DatasetEntry entry;
  entry.name = "photos";
  entry.height = entry.width = 32;
  entry.photos = PhotoFolder{.shorter_side = side};
  const auto archive = folder + "/photos.tar";
  write_bytes(archive, tar_of(files));
  const auto packed = folder + "/photos.packed";
  import_photos(archive, entry, packed, options, [](const LoadedDataset&) {});
  return open_packed(packed, /*verify=*/true);
}

}  // namespace approx::testing
