// synthetic, synthetic28, synthetic224: images without meaning, in the shapes of CIFAR-10, MNIST
// and cropped photographs. For comparing speeds without a data set at hand; nothing can be learnt.
#include <memory>
#include <vector>

#include "base/digest.h"
#include "core/data/dataset.h"
#include "kernels/rng.h"

namespace approx {
namespace {

struct Shape {
  int64_t channels, size, classes, train, test;
};

ImageSet draw(const Shape& shape, int64_t count, uint64_t part) {
  struct Storage {
    std::vector<uint8_t> pixels;
    std::vector<int64_t> labels;
  };
  auto storage = std::make_shared<Storage>();
  storage->pixels.resize(static_cast<size_t>(count * shape.size * shape.size * shape.channels));
  const Rng rng{.seed = 1, .step = part, .stream = kInitStream};
  for (size_t i = 0; i < storage->pixels.size(); i += 16) {  // the size is a multiple of 16
    const auto words = rng.block(static_cast<uint32_t>(i / 16));
    for (size_t byte = 0; byte < 16; ++byte) {
      storage->pixels[i + byte] = static_cast<uint8_t>(words[byte / 4] >> (8 * (byte % 4)));
    }
  }
  for (int64_t i = 0; i < count; ++i) storage->labels.push_back(i % shape.classes);
  return {count, shape.size, shape.size, shape.channels, storage->pixels, storage->labels, storage};
}

// `name` and shape as registered below.
template <typename Set>
LoadedDataset generate() {
  constexpr Shape kShape = Set::kShape;
  LoadedDataset dataset;
  dataset.name = Set::kName;
  dataset.variant = "uniform noise";
  dataset.source = "generated";
  dataset.classes = kShape.classes;
  // Mean and deviation of the uniform distribution on 0..255, in units of the whole range.
  dataset.mean.assign(kShape.channels, 0.5);
  dataset.stddev.assign(kShape.channels, 0.29);
  dataset.train = draw(kShape, kShape.train, 0);
  dataset.test = draw(kShape, kShape.test, 1);
  dataset.sha256 = digest_hex("sha256", dataset.train.pixels);
  return dataset;
}

template <typename Set>
DatasetShape shape_of_set() {
  constexpr Shape kShape = Set::kShape;
  return {.classes = kShape.classes,
          .channels = kShape.channels,
          .height = kShape.size,
          .width = kShape.size,
          .n_train = kShape.train,
          .n_test = kShape.test};
}

struct Cifar {
  static constexpr const char* kName = "synthetic";
  static constexpr Shape kShape{3, 32, 10, 5000, 1000};
};
struct Mnist {
  static constexpr const char* kName = "synthetic28";
  static constexpr Shape kShape{1, 28, 10, 5000, 1000};
};
struct Imagenet {
  static constexpr const char* kName = "synthetic224";
  static constexpr Shape kShape{3, 224, 1000, 128, 16};
};

REGISTER_DATASET(Cifar::kName)
    .described("32x32 colour noise in ten classes, for measuring speed only")
    .shaped(shape_of_set<Cifar>())
    .embedded_as(generate<Cifar>);
REGISTER_DATASET(Mnist::kName)
    .described("28x28 grey noise in ten classes, for measuring speed only")
    .shaped(shape_of_set<Mnist>())
    .embedded_as(generate<Mnist>);
REGISTER_DATASET(Imagenet::kName)
    .described("224x224 colour noise in a thousand classes, for measuring speed only")
    .shaped(shape_of_set<Imagenet>())
    .embedded_as(generate<Imagenet>);

}  // namespace
}  // namespace approx
