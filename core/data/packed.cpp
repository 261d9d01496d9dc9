#include "core/data/packed.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/digest.h"
#include "core/data/bytes.h"
#include "core/data/image_buffer.h"
#include "core/data/packed_file.h"
#include "core/data/packed_photos.h"

namespace approx {
namespace {

// Where the four pieces are, in bytes from the start of the payload. There is one valid layout for
// given shapes: pieces in this order, each on the next multiple of 64.
struct ImageLayout {
  int64_t train_pixels = 0, train_labels = 0, test_pixels = 0, test_labels = 0, bytes = 0;

  bool operator==(const ImageLayout&) const = default;
};

ImageLayout image_layout(int64_t image_bytes, int64_t n_train, int64_t n_test,
                         std::string_view place) {
  const auto label_bytes = [&](int64_t n) {
    return checked_mul(n, static_cast<int64_t>(sizeof(int64_t)), place);
  };
  ImageLayout layout;
  layout.train_labels = packed_aligned(checked_mul(image_bytes, n_train, place), place);
  layout.test_pixels =
      packed_aligned(checked_add(layout.train_labels, label_bytes(n_train), place), place);
  layout.test_labels = packed_aligned(
      checked_add(layout.test_pixels, checked_mul(image_bytes, n_test, place), place), place);
  layout.bytes = checked_add(layout.test_labels, label_bytes(n_test), place);
  return layout;
}

Bytes label_bytes_of(std::span<const int64_t> labels) {
  return {reinterpret_cast<const uint8_t*>(labels.data()), labels.size_bytes()};
}

// Hands out the payload piece by piece, zero bytes in between included.
template <typename Sink>
void for_each_piece(const ImageSet& train, const ImageSet& test, Sink sink) {
  const auto layout = image_layout(train.height * train.width * train.channels, train.count,
                                   test.count, "data set in memory");
  constexpr std::array<uint8_t, kPackedAlignment> kZeros{};
  int64_t at = 0;
  const auto put = [&](int64_t offset, Bytes piece) {
    sink(Bytes(kZeros).first(static_cast<size_t>(offset - at)));
    sink(piece);
    at = offset + static_cast<int64_t>(piece.size());
  };
  put(layout.train_pixels, train.pixels);
  put(layout.train_labels, label_bytes_of(train.labels));
  put(layout.test_pixels, test.pixels);
  put(layout.test_labels, label_bytes_of(test.labels));
}

struct ImageHeader {
  LoadedDataset dataset;  // without pixels and labels
  ImageLayout layout;
  int64_t payload_at = 0;  // offset in the file
};

// Checks everything before the payload, and the size of the file.
ImageHeader parse_image_header(Bytes file, const PackedHeader& packed, const std::string& path) {
  ImageHeader header;
  header.payload_at = packed.payload_at;
  auto& dataset = header.dataset;
  ImageLayout stated;
  int64_t payload_bytes = 0;
  try {
    const auto& json = packed.json;
    json.at("name").get_to(dataset.name);
    json.at("variant").get_to(dataset.variant);
    json.at("source").get_to(dataset.source);
    json.at("classes").get_to(dataset.classes);
    json.at("lossy").get_to(dataset.lossy);
    json.at("mean").get_to(dataset.mean);
    json.at("stddev").get_to(dataset.stddev);
    json.at("sha256").get_to(dataset.sha256);
    json.at("payload_bytes").get_to(payload_bytes);
    const auto read_part = [&](const char* key, ImageSet& part, int64_t& pixels, int64_t& labels) {
      const auto& object = json.at(key);
      object.at("count").get_to(part.count);
      object.at("pixels").get_to(pixels);
      object.at("labels").get_to(labels);
      json.at("height").get_to(part.height);
      json.at("width").get_to(part.width);
      json.at("channels").get_to(part.channels);
    };
    read_part("train", dataset.train, stated.train_pixels, stated.train_labels);
    read_part("test", dataset.test, stated.test_pixels, stated.test_labels);
  } catch (const Json::exception& error) {
    throw data_error("{}: at byte 64: expected a JSON header, found: {}; {}", path, error.what(),
                     kImportAgain);
  }
  const auto& train = dataset.train;
  const auto in_range = [](int64_t value) { return value >= 1 && value <= (1 << 24); };
  const auto finite = [&](const std::vector<double>& values) {
    return static_cast<int64_t>(values.size()) == train.channels &&
           std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  };
  if (!in_range(dataset.classes) || !in_range(train.height) || !in_range(train.width) ||
      !in_range(train.channels) || train.count < 1 || dataset.test.count < 1 ||
      !finite(dataset.mean) || !finite(dataset.stddev) ||
      std::any_of(dataset.stddev.begin(), dataset.stddev.end(), [](double v) { return v <= 0; })) {
    throw data_error("{}: at byte 64: expected possible shapes and normalisation, found others; {}",
                     path, kImportAgain);
  }
  const auto image_bytes =
      checked_mul(checked_mul(train.height, train.width, path), train.channels, path);
  header.layout = image_layout(image_bytes, train.count, dataset.test.count, path);
  stated.bytes = payload_bytes;
  if (stated != header.layout) {
    throw data_error(
        "{}: at byte 64: expected offsets that follow from the shapes, found others; "
        "{}",
        path, kImportAgain);
  }
  check_file_size(file, packed.payload_at, header.layout.bytes, path);
  return header;
}

}  // namespace

std::string payload_sha256(const ImageSet& train, const ImageSet& test) {
  Digest digest("sha256");
  for_each_piece(train, test, [&](Bytes piece) { digest.add(piece); });
  return digest.hex();
}

void write_packed(const LoadedDataset& dataset, const std::string& path) {
  const auto& train = dataset.train;
  const auto& test = dataset.test;
  const auto layout =
      image_layout(train.height * train.width * train.channels, train.count, test.count, path);
  const Json json = {
      {"name", dataset.name},
      {"variant", dataset.variant},
      {"source", dataset.source},
      {"classes", dataset.classes},
      {"lossy", dataset.lossy},
      {"height", train.height},
      {"width", train.width},
      {"channels", train.channels},
      {"mean", dataset.mean},
      {"stddev", dataset.stddev},
      {"train",
       {{"count", train.count}, {"pixels", layout.train_pixels}, {"labels", layout.train_labels}}},
      {"test",
       {{"count", test.count}, {"pixels", layout.test_pixels}, {"labels", layout.test_labels}}}};
  PackedWriter file(path, kPixelsVersion, json, layout.bytes);
  for_each_piece(train, test, [&](Bytes piece) { file.write(piece); });
  file.finish(dataset.sha256);
}

LoadedDataset open_packed(const std::string& path, bool verify) {
  auto mapping = std::make_shared<const Mapping>(path);
  const auto packed = read_packed_header(mapping->bytes(), path);
  if (packed.version == kPhotosVersion) {
    return open_packed_photos(std::move(mapping), packed, path, verify);
  }
  auto header = parse_image_header(mapping->bytes(), packed, path);
  auto& dataset = header.dataset;
  const auto payload = mapping->bytes().subspan(static_cast<size_t>(header.payload_at));
  if (verify) verify_payload(payload, dataset.sha256, header.payload_at, path);
  const auto attach = [&](ImageSet& part, int64_t pixels, int64_t labels) {
    const auto bytes = part.count * part.height * part.width * part.channels;
    part.pixels = payload.subspan(static_cast<size_t>(pixels), static_cast<size_t>(bytes));
    // Aligned: the payload and its pieces start at multiples of 64 of a mapping of whole pages.
    part.labels = {reinterpret_cast<const int64_t*>(payload.data() + labels),
                   static_cast<size_t>(part.count)};
    part.owner = mapping;
  };
  attach(dataset.train, header.layout.train_pixels, header.layout.train_labels);
  attach(dataset.test, header.layout.test_pixels, header.layout.test_labels);
  check_labels(dataset.train, dataset.classes, path + ": training part");
  check_labels(dataset.test, dataset.classes, path + ": test part");
  return std::move(dataset);
}

std::string packed_checksum(const std::string& path) {
  const Mapping mapping(path);
  const auto packed = read_packed_header(mapping.bytes(), path);
  if (packed.version == kPhotosVersion) {
    return packed_photos_checksum(mapping.bytes(), packed, path);
  }
  return parse_image_header(mapping.bytes(), packed, path).dataset.sha256;
}

}  // namespace approx
