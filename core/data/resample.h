// Scales a part of an image.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/photo.h"

namespace approx {

// A rectangle in units of pixels: pixel i reaches from i to i + 1. Fractions are parts of pixels.
struct Box {
  double top = 0, left = 0, height = 0, width = 0;
};

// Bilinear interpolation with antialiasing, as in torchvision and Pillow. Each result is the mean
// of the pixels around its place, weighted by a triangle. Half the triangle's base is one pixel of
// the result, or one of the source if the image gets larger. Pixels outside of the box are not
// used. It scales rows first, then columns. It keeps its memory between calls: use one per thread.
class Resampler {
 public:
  // Writes the box of `source`, scaled, to `out` [height,width,3]; `mirrored`: left to right. The
  // box must overlap the image.
  void operator()(const Raster& source, const Box& box, int64_t height, int64_t width,
                  bool mirrored, uint8_t* out);

 private:
  // The `count` pixels from `first` on, times their weights, give one result.
  struct Taps {
    int64_t first = 0, count = 0;
    size_t weights = 0;  // index into weights
  };
  struct Axis {
    std::vector<Taps> taps;
    std::vector<float> weights;
    void plan(double start, double length, int64_t results, int64_t pixels);
  };

  Axis rows_, columns_;
  std::vector<float> row_;
};

}  // namespace approx
