// synthetic: images without meaning, in the shape of CIFAR-10. For comparing speeds without a data
// set at hand; nothing can be learnt from it.
#include <memory>
#include <vector>

#include "core/data/dataset.h"
#include "core/spec/run_config.h"
#include "kernels/rng.h"

namespace approx {
namespace {

constexpr int64_t kClasses = 10, kSize = 32, kChannels = 3, kTrain = 5000, kTest = 1000;

ImageSet draw(int64_t count, uint64_t part) {
  struct Storage {
    std::vector<uint8_t> pixels;
    std::vector<int64_t> labels;
  };
  auto storage = std::make_shared<Storage>();
  storage->pixels.resize(static_cast<size_t>(count * kSize * kSize * kChannels));
  const Rng rng{.seed = 1, .step = part, .stream = kInitStream};
  for (size_t i = 0; i < storage->pixels.size(); i += 16) {  // the size is a multiple of 16
    const auto words = rng.block(static_cast<uint32_t>(i / 16));
    for (size_t byte = 0; byte < 16; ++byte) {
      storage->pixels[i + byte] = static_cast<uint8_t>(words[byte / 4] >> (8 * (byte % 4)));
    }
  }
  for (int64_t i = 0; i < count; ++i) storage->labels.push_back(i % kClasses);
  return {count, kSize, kSize, kChannels, storage->pixels, storage->labels, storage};
}

LoadedDataset synthetic() {
  LoadedDataset dataset;
  dataset.name = "synthetic";
  dataset.variant = "uniform noise";
  dataset.source = "generated";
  dataset.classes = kClasses;
  // Of the uniform distribution on 0..255, in units of the whole range.
  dataset.mean = {0.5, 0.5, 0.5};
  dataset.stddev = {0.29, 0.29, 0.29};
  dataset.train = draw(kTrain, 0);
  dataset.test = draw(kTest, 1);
  dataset.sha256 = sha256_hex(
      {reinterpret_cast<const char*>(dataset.train.pixels.data()), dataset.train.pixels.size()});
  return dataset;
}

REGISTER_DATASET("synthetic")
    .described("32x32 colour noise in ten classes, for measuring speed only")
    .shaped({.classes = kClasses,
             .channels = kChannels,
             .height = kSize,
             .width = kSize,
             .n_train = kTrain,
             .n_test = kTest})
    .embedded_as(synthetic);

}  // namespace
}  // namespace approx
