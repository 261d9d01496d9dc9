// added_dataset: 8x8 grey images in two classes, bright above or below.
#include "core/data/dataset.h"
#include "core/data/image_buffer.h"

namespace approx {
namespace {

constexpr DatasetShape kHalves{
    .classes = 2, .channels = 1, .height = 8, .width = 8, .n_train = 96, .n_test = 32};

ImageBuffer bright_halves(int64_t count) {
  ImageBuffer images{.height = kHalves.height, .width = kHalves.width, .channels = 1};
  for (int64_t i = 0; i < count; ++i) {
    const int64_t label = i % kHalves.classes;
    images.labels.push_back(label);
    for (int64_t row = 0; row < kHalves.height; ++row) {
      const bool bright = (row < kHalves.height / 2) == (label == 0);
      for (int64_t column = 0; column < kHalves.width; ++column) {
        // The images of a class differ by a little.
        const int64_t shade = (bright ? 150 : 40) + (7 * i + 3 * row + column) % 32;
        images.pixels.push_back(static_cast<uint8_t>(shade));
      }
    }
  }
  return images;
}

LoadedDataset added_dataset() {
  return make_dataset(
      {.name = "added_dataset", .variant = "halves", .source = "generated", .classes = 2},
      bright_halves(kHalves.n_train), bright_halves(kHalves.n_test));
}

REGISTER_DATASET("added_dataset")
    .described("8x8 grey images, bright above or below")
    .shaped(kHalves)
    .embedded_as(added_dataset);

}  // namespace
}  // namespace approx
