// Data sets as packed, checksummed uint8 images. This code is free of LibTorch, so that the readers
// can be fuzzed and used without it. The trainer wraps the bytes in a tensor without copying them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/registry.h"
#include "core/config/catalogue.h"

namespace approx {

// Photographs of different sizes: JPEG files, stored contiguously.
struct PhotoFiles {
  std::span<const uint8_t> bytes;
  std::span<const int64_t> starts;  // count + 1: file i is bytes[starts[i], starts[i + 1])
  std::string place;                // messages call image i: `place` i

  std::span<const uint8_t> file(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return bytes.subspan(static_cast<size_t>(starts[at]),
                         static_cast<size_t>(starts[at + 1] - starts[at]));
  }
};

// Images of one part (training or test) of a data set, with labels in [0, classes). They either
// have one size, [N,H,W,C] uint8, or are photographs. For photographs, height and width are those
// of the square that training cuts out of them unless a recipe sets another. `owner` keeps the
// bytes alive (a mapped file, a vector).
struct ImageSet {
  int64_t count = 0, height = 0, width = 0, channels = 0;
  std::span<const uint8_t> pixels;  // count * height * width * channels; empty for photographs
  std::span<const int64_t> labels;  // count
  std::shared_ptr<const void> owner;
  PhotoFiles photos;
  int64_t skipped = 0;  // photographs that the import left out as damaged
};

struct LoadedDataset {
  std::string name, variant, sha256;  // sha256 of the packed content (pixels and labels)
  std::string source;                 // where it was imported from, as text
  int64_t classes = 0;
  bool lossy = false;                // e.g. CIFAR-10 through JPEG: tables carry a footnote
  std::vector<double> mean, stddev;  // per channel, of the training pixels in [0,1]
  ImageSet train, test;
  // Photographs: a bound of all images' shorter sides; 0 for images of one size.
  int64_t shorter_side = 0;
  std::vector<std::string> class_names;  // photographs: the folders, ordered by label
  // The number of junk files that an import skipped (core/data/junk.h). Not stored.
  int64_t junk = 0;

  bool has_photos() const { return shorter_side > 0; }
};

// A file that `data fetch` downloads. The checksum is from the publisher.
struct RemoteFile {
  std::string url, file_name, md5, sha256;  // one checksum may be empty, not both
  int64_t bytes = 0;                        // 0: unknown
};

struct DatasetShape {
  int64_t classes = 0, channels = 0, height = 0, width = 0, n_train = 0, n_test = 0;

  bool operator==(const DatasetShape&) const = default;
};

// The size at which photographs are stored. Larger ones are scaled down until the shorter side is
// `side`, or the longer side with `of_longer`, as FFCV's writer does. 0: they keep their size.
struct PhotoLimit {
  int64_t side = 0;
  bool of_longer = false;
};

// How a data set of photographs is imported from an image folder (core/data/photo_import.h).
struct PhotoFolder {
  int64_t shorter_side = 0;          // the limit, unless the import sets another
  std::vector<std::string> classes;  // folders in the order of their labels; empty: all, sorted
};

struct ImportOptions {
  // Photographs only: leaves out images that cannot be decoded, instead of refusing the data set.
  // It calls `on_skipped` for each, in the order of their names.
  bool skip_damaged = false;
  std::function<void(const std::string& message)> on_skipped;
  std::optional<PhotoLimit> limit;  // photographs only; nothing: the limit of the data set
};

// A data set that the program knows by name: one .cpp in core/datasets/.
struct DatasetEntry : EntryInfo, DatasetShape {
  static constexpr const char* kWhat = "data set";
  std::vector<RemoteFile> files;
  // Reads the official files (or an image folder) at `path` and returns the images in memory.
  LoadedDataset (*import)(const std::string& path) = nullptr;
  // Set instead of `import` for photographs, which do not fit in memory.
  std::optional<PhotoFolder> photos;
  // Set for a data set that comes with the program. Returns it; no import is needed.
  LoadedDataset (*embedded)() = nullptr;

  // Chained onto REGISTER_DATASET.
  DatasetEntry& described(std::string text) {
    summary = std::move(text);
    return *this;
  }
  DatasetEntry& shaped(const DatasetShape& shape) {
    static_cast<DatasetShape&>(*this) = shape;
    return *this;
  }
  DatasetEntry& fetched_from(RemoteFile file) {
    files.push_back(std::move(file));
    return *this;
  }
  DatasetEntry& imported_by(LoadedDataset (*function)(const std::string&)) {
    import = function;
    return *this;
  }
  DatasetEntry& photographs(PhotoFolder folder) {
    photos = std::move(folder);
    return *this;
  }
  DatasetEntry& embedded_as(LoadedDataset (*function)()) {
    embedded = function;
    return *this;
  }
};

DatasetShape shape_of(const LoadedDataset& dataset);

// The facts of a data set that are known without its images. If it was made from an entry,
// photographs that an import left out still count.
struct DatasetOutline {
  std::string name;
  DatasetShape shape;
  bool photographs = false;  // of different sizes: the shape is the square cut by training
};

DatasetOutline outline_of(const LoadedDataset& dataset);
DatasetOutline outline_of(const DatasetEntry& entry);

// Opens the packed file of `name` in `data_dir`, or the embedded set. Throws Error(kData) if the
// file is missing, and says how to import it. Throws Error(kData) if its size or (with `verify`)
// its checksum is not the header's. That message gives file, offset, and the expected and the found
// value.
LoadedDataset open_dataset(std::string_view name, const std::string& data_dir, bool verify = true);

// Reads the files at `path` as the data set `name`, and writes the packed file into `data_dir`,
// which is made if missing. Opens that file and returns it, with the number of junk files that were
// skipped. Throws Error(kUsage) for an unknown name, for one that needs no import, and for options
// that the data set does not have. Throws Error(kData) for files that are not that data set.
LoadedDataset import_dataset(std::string_view name, const std::string& path,
                             const std::string& data_dir, const ImportOptions& options = {});

// `<data_dir>/<name>.packed`.
std::string packed_path(std::string_view name, const std::string& data_dir);

// Whether a run can use the data set: it is built in, or its packed file exists.
bool is_at_hand(const DatasetEntry& entry, const std::string& data_dir);

// The command to run for a missing data set, for messages: "run: approxtrain data import mnist
// PATH". If the publisher's files can be downloaded, it also gives `data fetch`, first.
std::string how_to_get(std::string_view name);

// The checksum in the header of the packed file; "" if there is no such file.
std::string dataset_checksum(std::string_view name, const std::string& data_dir);

}  // namespace approx

#define REGISTER_DATASET(NAME)                                                    \
  [[maybe_unused]] static ::approx::DatasetEntry& APPROX_UNIQUE(dataset_entry_) = \
      ::approx::Registry<::approx::DatasetEntry>::instance().add(NAME)
