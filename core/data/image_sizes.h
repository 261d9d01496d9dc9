// The sizes of the images that a run trains and evaluates on.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/recipe.h"
#include "core/data/dataset.h"

namespace approx {

struct ImageSizes {
  int64_t height = 0, width = 0;  // at the end of the training; square for photographs
  int64_t eval = 0;               // photographs: side of the images in evaluation
  // Progressive resolution (Leclerc et al. 2023, FFCV). The side is `start` until epoch grow_from
  // and the final size from grow_until on. In between it is linear, rounded to multiples of
  // `growth`: 32 for photographs, 4 for images of one size.
  int64_t start = 0, grow_from = 0, grow_until = 0;
  int64_t growth = 32;

  // Side of the training images in an epoch, counted from 0.
  int64_t at_epoch(int64_t epoch) const;
  // Every side that a network must take, smallest first: the first and the last of training, and
  // that of evaluation.
  std::vector<int64_t> all() const;
};

// The sizes of a run's images. Throws Error(kUsage) for a recipe that contradicts itself. It also
// throws for sizes or crops that images of one size cannot have: they can only be trained on
// smaller at first. It also throws if more of an image is to be reflected than there is.
ImageSizes image_sizes(const Recipe& recipe, const DatasetOutline& dataset);

}  // namespace approx
