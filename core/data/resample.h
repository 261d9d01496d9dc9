// A part of an image, made larger or smaller.
#pragma once

#include <cstdint>
#include <vector>

#include "core/data/photo.h"

namespace approx {

// A rectangle in units of pixels: pixel i reaches from i to i + 1. Fractions are parts of pixels.
struct Box {
  double top = 0, left = 0, height = 0, width = 0;
};

// Bilinear interpolation with antialiasing, as in torchvision and Pillow: each result is the mean
// of the pixels around its place under a triangle, whose half base is one pixel of the result or,
// where the image gets larger, one of the source. Pixels outside the box are not looked at. Rows
// first, then columns; keeps its memory between calls, one per thread.
class Resampler {
 public:
  // Writes [height,width,3] to `out`, the box of `source` scaled to that; `mirrored` left to right.
  // The box must overlap the image.
  void operator()(const Raster& source, const Box& box, int64_t height, int64_t width,
                  bool mirrored, uint8_t* out);

 private:
  // The pixels from `first` on, with these weights, make one result.
  struct Taps {
    int64_t first = 0, count = 0;
    size_t weights = 0;  // where in weights
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
