// IDX files of images and labels, plain or gzip: two bytes say how long the first file is.
#include "core/data/idx.h"
#include "tests/core/data/testing.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

Buffer idx(const std::vector<uint8_t>& dims, uint8_t fill) {
  Buffer bytes = {0, 0, 8, static_cast<uint8_t>(dims.size())};
  size_t count = 1;
  for (const uint8_t dim : dims) {
    bytes.insert(bytes.end(), {0, 0, 0, dim});
    count *= dim;
  }
  for (size_t i = 0; i < count; ++i) bytes.push_back(static_cast<uint8_t>(fill + i % 10));
  return bytes;
}

Buffer pair_of(const Buffer& images, const Buffer& labels) {
  Buffer bytes = {static_cast<uint8_t>(labels.size() >> 8), static_cast<uint8_t>(labels.size())};
  bytes.insert(bytes.end(), labels.begin(), labels.end());
  bytes.insert(bytes.end(), images.begin(), images.end());
  return bytes;
}

}  // namespace

void run(Bytes bytes) {
  Input input(bytes);
  const size_t high = input.byte(), stated = high << 8 | input.byte();
  const size_t length = std::min(stated, input.rest().size());
  const Bytes labels = input.rest().first(length), images = input.rest().subspan(length);
  accepted(ErrorKind::kData, [&] {
    const auto array = parse_idx(images, "images");
    int64_t count = 1;
    for (const int64_t dim : array.dims) count *= dim;
    expect(count == static_cast<int64_t>(array.values.size()), "values fill the dimensions");
  });
  accepted(ErrorKind::kData, [&] {
    const auto buffer = read_idx_pair(images, "images", labels, "labels");
    const auto count = static_cast<int64_t>(buffer.labels.size());
    expect(count * buffer.image_bytes() == static_cast<int64_t>(buffer.pixels.size()),
           "there is a label for each image");
    make_dataset({.name = "x", .source = "x", .classes = 10}, buffer, buffer);
  });
}

std::vector<Buffer> seeds() {
  const Buffer images = idx({3, 4, 5}, 100), labels = idx({3}, 0), none = idx({0, 4, 5}, 0);
  return {pair_of(images, labels), pair_of(testing::gzip(images), labels),
          pair_of(testing::gzip(images), testing::gzip(labels)), pair_of(none, idx({0}, 0)),
          pair_of(idx({2, 2, 2, 2}, 1), labels)};
}

}  // namespace approx::fuzz
