// The part of a photograph that a training step or an evaluation uses: a square, cut out and
// scaled.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/data/photo.h"
#include "core/data/resample.h"
#include "kernels/rng.h"

namespace approx {

// Random-resized crops (Szegedy et al. 2015, section 6), as torchvision draws them.
struct CropRanges {
  double scale_min = 0.08, scale_max = 1;  // share of the image's area
  double ratio_min = 0.75;                 // width to height, from this to its inverse
};

// How one image of a batch is cut.
struct PhotoView {
  int64_t size = 0;              // side of the result
  bool random = false;           // a random-resized crop, else the centre
  CropRanges ranges;             // of random crops
  bool may_flip = false;         // mirrors half of the images
  std::optional<bool> mirrored;  // whether this image is mirrored; nothing: as may_flip says
  Rng rng;                       // of the batch (seed, step, kAugmentStream)
  uint32_t index = 0;            // of the image in its batch, below 2^16
};

// Each image of a batch has sixteen blocks of four random words. Ten are for the attempts at a
// crop. The last is for the flip and for other draws of the batch.
constexpr uint32_t kPhotoBlocks = 16, kPhotoAttempts = 10, kPhotoExtras = 15;

// A random-resized crop. Draws a share of the area and a logarithm of the ratio until the rectangle
// fits, at most ten times. Then draws its place, in whole pixels. If none fits, it is the largest
// rectangle in the middle with an allowed ratio.
Box random_resized_box(int64_t height, int64_t width, const CropRanges& ranges, const Rng& rng,
                       uint32_t index);

// The square in the middle for evaluation. It becomes size x size pixels if the shorter side is
// scaled to size / 0.875, rounded (256 for 224).
Box centre_box(int64_t height, int64_t width, int64_t size);

// Decodes, cuts and scales. Use one per thread.
class PhotoViewer {
 public:
  // Writes [size,size,3] to `out`. Throws Error(kData) that begins with `place` for a file that
  // cannot be decoded.
  void render(Bytes file, const std::string& place, const PhotoView& view, uint8_t* out);

 private:
  Resampler resample_;
  Raster raster_;
};

}  // namespace approx
