// Images while they are read, and their conversion to a data set.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/data/bytes.h"
#include "core/data/dataset.h"

namespace approx {

// Images of one size, [N,H,W,C] uint8, one label each.
struct ImageBuffer {
  int64_t height = 0, width = 0, channels = 0;
  std::vector<uint8_t> pixels;
  std::vector<int64_t> labels;

  int64_t image_bytes() const { return height * width * channels; }
};

// The facts of a data set beside its pixels.
struct DatasetFacts {
  std::string name, variant, source;
  int64_t classes = 0;
  bool lossy = false;
};

// Makes a data set of two buffers, with checksum and normalisation. Throws Error(kData) that begins
// with `source` unless every image has a label in [0, classes) and both parts have images of one
// size.
LoadedDataset make_dataset(DatasetFacts facts, ImageBuffer train, ImageBuffer test);

// Mean and standard deviation per channel of pixels/255. Sums are integers, so that the result does
// not depend on the order of summation. A channel with one single value gets the deviation 1, by
// which dividing is harmless.
void compute_normalisation(const ImageSet& images, std::vector<double>& mean,
                           std::vector<double>& stddev);

// Throws Error(kData) that begins with `place` unless every label is in [0, classes).
void check_labels(const ImageSet& images, int64_t classes, std::string_view place);

}  // namespace approx
