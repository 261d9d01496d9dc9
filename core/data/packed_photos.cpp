#include "core/data/packed_photos.h"

#include <algorithm>
#include <cmath>

#include "base/digest.h"
#include "core/data/image_buffer.h"

namespace approx {
namespace {

constexpr int64_t kWord = sizeof(int64_t);

// Where one part's index and files are, in bytes from the start of the payload.
struct PartLayout {
  int64_t starts = 0, labels = 0, files = 0;

  bool operator==(const PartLayout&) const = default;
};

// There is one valid layout for given counts: the indices of both parts, then the files of both.
struct PhotoLayout {
  PartLayout train, test;
  int64_t bytes = 0;

  bool operator==(const PhotoLayout&) const = default;
};

struct PartSize {
  int64_t count = 0, file_bytes = 0;
};

PhotoLayout photo_layout(const PartSize& train, const PartSize& test, std::string_view place) {
  PhotoLayout layout;
  int64_t at = 0;
  const auto take = [&](int64_t bytes) {
    const int64_t from = packed_aligned(at, place);
    at = checked_add(from, bytes, place);
    return from;
  };
  for (const auto& [part, size] : {std::pair{&layout.train, &train}, {&layout.test, &test}}) {
    part->starts = take(checked_mul(checked_add(size->count, 1, place), kWord, place));
    part->labels = take(checked_mul(size->count, kWord, place));
  }
  layout.train.files = take(train.file_bytes);
  layout.test.files = take(test.file_bytes);
  layout.bytes = at;
  return layout;
}

Bytes word_bytes(std::span<const int64_t> words) {
  return {reinterpret_cast<const uint8_t*>(words.data()), words.size_bytes()};
}

struct Index {
  std::vector<int64_t> starts = {0}, labels;

  explicit Index(std::span<const SpooledPhoto> photos) {
    for (const auto& photo : photos) {
      starts.push_back(starts.back() + photo.bytes);
      labels.push_back(photo.label);
    }
  }
  PartSize size() const { return {static_cast<int64_t>(labels.size()), starts.back()}; }
};

Json part_json(const Index& index, const PartLayout& layout, int64_t skipped) {
  return {{"count", index.labels.size()}, {"skipped", skipped},
          {"starts", layout.starts},      {"labels", layout.labels},
          {"files", layout.files},        {"file_bytes", index.starts.back()}};
}

struct PhotosHeader {
  LoadedDataset dataset;  // without images
  PhotoLayout layout;
  PartSize train, test;
};

void read_part(const Json& json, const char* key, ImageSet& part, PartSize& size,
               PartLayout& layout) {
  const auto& object = json.at(key);
  object.at("count").get_to(part.count);
  object.at("skipped").get_to(part.skipped);
  object.at("file_bytes").get_to(size.file_bytes);
  object.at("starts").get_to(layout.starts);
  object.at("labels").get_to(layout.labels);
  object.at("files").get_to(layout.files);
  json.at("size").get_to(part.height);
  json.at("size").get_to(part.width);
  json.at("channels").get_to(part.channels);
  size.count = part.count;
}

PhotosHeader parse_photo_header(Bytes file, const PackedHeader& packed, const std::string& path) {
  PhotosHeader header;
  auto& dataset = header.dataset;
  PhotoLayout stated;
  const auto& json = packed.json;
  try {
    json.at("name").get_to(dataset.name);
    json.at("variant").get_to(dataset.variant);
    json.at("source").get_to(dataset.source);
    json.at("classes").get_to(dataset.class_names);
    json.at("shorter_side").get_to(dataset.shorter_side);
    json.at("lossy").get_to(dataset.lossy);
    json.at("mean").get_to(dataset.mean);
    json.at("stddev").get_to(dataset.stddev);
    json.at("sha256").get_to(dataset.sha256);
    json.at("payload_bytes").get_to(stated.bytes);
    read_part(json, "train", dataset.train, header.train, stated.train);
    read_part(json, "test", dataset.test, header.test, stated.test);
  } catch (const Json::exception& error) {
    throw data_error("{}: at byte 64: expected the header of photographs, found: {}; {}", path,
                     error.what(), kImportAgain);
  }
  dataset.classes = static_cast<int64_t>(dataset.class_names.size());
  const auto positive = [](int64_t value) { return value >= 1 && value <= (1 << 24); };
  const auto three = [](const std::vector<double>& values) {
    return values.size() == 3 &&
           std::all_of(values.begin(), values.end(), [](double v) { return std::isfinite(v); });
  };
  const auto& train = dataset.train;
  if (!positive(dataset.classes) || !positive(train.height) || !positive(dataset.shorter_side) ||
      train.channels != 3 || train.count < 1 || dataset.test.count < 1 || train.skipped < 0 ||
      dataset.test.skipped < 0 || !three(dataset.mean) || !three(dataset.stddev) ||
      std::any_of(dataset.stddev.begin(), dataset.stddev.end(), [](double v) { return v <= 0; })) {
    throw data_error("{}: at byte 64: expected possible sizes and normalisation, found others; {}",
                     path, kImportAgain);
  }
  header.layout = photo_layout(header.train, header.test, path);
  if (stated != header.layout) {
    throw data_error(
        "{}: at byte 64: expected offsets that follow from the sizes, found others; {}", path,
        kImportAgain);
  }
  check_file_size(file, packed.payload_at, header.layout.bytes, path);
  return header;
}

// Files must follow one another, none empty, and fill the room they have.
void check_starts(std::span<const int64_t> starts, int64_t file_bytes, const std::string& place) {
  for (size_t i = 0; i + 1 < starts.size(); ++i) {
    if (starts[i] < 0 || starts[i + 1] <= starts[i] || starts[i + 1] > file_bytes) {
      throw data_error("{} {}: expected a file within {} bytes, found one from {} to {}; {}", place,
                       i, file_bytes, starts[i], starts[i + 1], kImportAgain);
    }
  }
  if (starts.front() != 0 || starts.back() != file_bytes) {
    throw data_error("{}: expected files from byte 0 to {}, found them from {} to {}; {}", place,
                     file_bytes, starts.front(), starts.back(), kImportAgain);
  }
}

}  // namespace

void write_packed_photos(const LoadedDataset& dataset, std::span<const SpooledPhoto> train,
                         std::span<const SpooledPhoto> test, Bytes spool, const std::string& path) {
  const Index train_index(train), test_index(test);
  const auto layout = photo_layout(train_index.size(), test_index.size(), path);
  const Json json = {{"name", dataset.name},
                     {"variant", dataset.variant},
                     {"source", dataset.source},
                     {"classes", dataset.class_names},
                     {"shorter_side", dataset.shorter_side},
                     {"size", dataset.train.height},
                     {"channels", dataset.train.channels},
                     {"lossy", dataset.lossy},
                     {"mean", dataset.mean},
                     {"stddev", dataset.stddev},
                     {"train", part_json(train_index, layout.train, dataset.train.skipped)},
                     {"test", part_json(test_index, layout.test, dataset.test.skipped)}};
  PackedWriter file(path, kPhotosVersion, json, layout.bytes);
  Digest digest("sha256");
  int64_t at = 0;
  const auto append = [&](Bytes bytes) {
    file.write(bytes);
    digest.add(bytes);
    at += static_cast<int64_t>(bytes.size());
  };
  const auto put_at = [&](int64_t offset, Bytes bytes) {
    const std::vector<uint8_t> zeros(static_cast<size_t>(offset - at));
    append(zeros);
    append(bytes);
  };
  const auto put_files = [&](int64_t offset, std::span<const SpooledPhoto> photos) {
    put_at(offset, {});
    for (const auto& photo : photos) {
      append(spool.subspan(static_cast<size_t>(photo.offset), static_cast<size_t>(photo.bytes)));
    }
  };
  put_at(layout.train.starts, word_bytes(train_index.starts));
  put_at(layout.train.labels, word_bytes(train_index.labels));
  put_at(layout.test.starts, word_bytes(test_index.starts));
  put_at(layout.test.labels, word_bytes(test_index.labels));
  put_files(layout.train.files, train);
  put_files(layout.test.files, test);
  file.finish(digest.hex());
}

LoadedDataset open_packed_photos(std::shared_ptr<const Mapping> mapping, const PackedHeader& packed,
                                 const std::string& path, bool verify) {
  auto header = parse_photo_header(mapping->bytes(), packed, path);
  auto& dataset = header.dataset;
  const auto payload = mapping->bytes().subspan(static_cast<size_t>(packed.payload_at));
  if (verify) verify_payload(payload, dataset.sha256, packed.payload_at, path);
  // Aligned: the payload and its pieces start at multiples of 64 of a mapping of whole pages.
  const auto words = [&](int64_t offset, int64_t count) {
    return std::span(reinterpret_cast<const int64_t*>(payload.data() + offset),
                     static_cast<size_t>(count));
  };
  const auto attach = [&](ImageSet& part, const PartSize& size, const PartLayout& layout,
                          const char* what) {
    const auto place = fmt::format("{}: {} image", path, what);
    part.photos.starts = words(layout.starts, size.count + 1);
    part.photos.bytes =
        payload.subspan(static_cast<size_t>(layout.files), static_cast<size_t>(size.file_bytes));
    part.photos.place = place;
    part.labels = words(layout.labels, size.count);
    part.owner = mapping;
    check_starts(part.photos.starts, size.file_bytes, place);
    check_labels(part, dataset.classes, fmt::format("{}: {} part", path, what));
  };
  attach(dataset.train, header.train, header.layout.train, "training");
  attach(dataset.test, header.test, header.layout.test, "test");
  return std::move(dataset);
}

std::string packed_photos_checksum(Bytes file, const PackedHeader& packed,
                                   const std::string& path) {
  return parse_photo_header(file, packed, path).dataset.sha256;
}

}  // namespace approx
