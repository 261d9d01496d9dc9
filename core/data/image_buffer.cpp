#include "core/data/image_buffer.h"

#include <cmath>

#include "core/data/packed.h"

namespace approx {
namespace {

ImageSet to_image_set(ImageBuffer buffer) {
  const auto kept = std::make_shared<const ImageBuffer>(std::move(buffer));
  return {.count = static_cast<int64_t>(kept->labels.size()),
          .height = kept->height,
          .width = kept->width,
          .channels = kept->channels,
          .pixels = kept->pixels,
          .labels = kept->labels,
          .owner = kept};
}

}  // namespace

void check_labels(const ImageSet& images, int64_t classes, std::string_view place) {
  for (size_t i = 0; i < images.labels.size(); ++i) {
    if (images.labels[i] < 0 || images.labels[i] >= classes) {
      throw data_error("{}: image {}: expected a label from 0 to {}, found {}", place, i,
                       classes - 1, images.labels[i]);
    }
  }
}

void compute_normalisation(const ImageSet& images, std::vector<double>& mean,
                           std::vector<double>& stddev) {
  const auto channels = static_cast<size_t>(images.channels);
  std::vector<uint64_t> sum(channels), squares(channels);
  const auto* pixel = images.pixels.data();
  const size_t count = images.pixels.size() / channels;
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < channels; ++c) {
      const uint64_t value = *pixel++;
      sum[c] += value;
      squares[c] += value * value;
    }
  }
  const auto n = static_cast<double>(count);
  mean.clear();
  stddev.clear();
  for (size_t c = 0; c < channels; ++c) {
    const double average = static_cast<double>(sum[c]) / n;
    const double variance = static_cast<double>(squares[c]) / n - average * average;
    mean.push_back(average / 255);
    stddev.push_back(variance > 0 ? std::sqrt(variance) / 255 : 1.0);
  }
}

LoadedDataset make_dataset(DatasetFacts facts, ImageBuffer train, ImageBuffer test) {
  if (train.labels.empty() || test.labels.empty()) {
    throw data_error("{}: expected training and test images, found {} and {}", facts.source,
                     train.labels.size(), test.labels.size());
  }
  if (train.height != test.height || train.width != test.width || train.channels != test.channels) {
    throw data_error(
        "{}: expected test images of {}x{}x{} like the training images, found {}x{}x{}",
        facts.source, train.height, train.width, train.channels, test.height, test.width,
        test.channels);
  }
  LoadedDataset dataset;
  dataset.name = std::move(facts.name);
  dataset.variant = std::move(facts.variant);
  dataset.source = std::move(facts.source);
  dataset.classes = facts.classes;
  dataset.lossy = facts.lossy;
  dataset.train = to_image_set(std::move(train));
  dataset.test = to_image_set(std::move(test));
  check_labels(dataset.train, dataset.classes, dataset.source + ": training part");
  check_labels(dataset.test, dataset.classes, dataset.source + ": test part");
  compute_normalisation(dataset.train, dataset.mean, dataset.stddev);
  dataset.sha256 = payload_sha256(dataset.train, dataset.test);
  return dataset;
}

}  // namespace approx
