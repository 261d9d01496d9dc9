// The sizes of the images that a run trains and evaluates on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/recipe.h"
#include "core/data/dataset.h"

namespace approx {

struct ImageSizes {
  int64_t height = 0, width = 0;  // at the end of the training; square for photographs
  int64_t eval = 0;               // photographs: side of the images of an evaluation
  // Progressive resolution (Leclerc et al. 2023, FFCV): `start` until epoch grow_from, from
  // grow_until on the final size, in between linear, rounded to multiples of 32.
  int64_t start = 0, grow_from = 0, grow_until = 0;

  // Side of the training images in an epoch (counted from 0).
  int64_t at_epoch(int64_t epoch) const;
  // Every side that a network must take, smallest first: what training begins and ends with, and
  // what evaluation uses.
  std::vector<int64_t> all() const;
};

// Error(kUsage) for a recipe that wants sizes or crops of images of one size, or more of an image
// reflected than there is, or contradicts itself.
ImageSizes image_sizes(const Recipe& recipe, const DatasetOutline& dataset);

}  // namespace approx
