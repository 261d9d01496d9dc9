// Data sets as packed, checksummed uint8 images. Torch-free: the readers can be fuzzed and used
// without LibTorch; the trainer wraps the bytes in a tensor without copying them.
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

// Photographs of different sizes, as JPEG files one after the other.
struct PhotoFiles {
  std::span<const uint8_t> bytes;
  std::span<const int64_t> starts;  // count + 1: file i is bytes[starts[i], starts[i + 1])
  std::string place;                // what messages call image i: `place` i

  std::span<const uint8_t> file(int64_t i) const {
    const auto at = static_cast<size_t>(i);
    return bytes.subspan(static_cast<size_t>(starts[at]),
                         static_cast<size_t>(starts[at + 1] - starts[at]));
  }
};

// Images of one part (training or test) of a data set with labels in [0, classes): either all of
// one size, [N,H,W,C] uint8, or photographs, of which height and width are the square that training
// cuts out of them unless a recipe says another. The bytes live as long as the object that `owner`
// keeps (a mapped file, a vector).
struct ImageSet {
  int64_t count = 0, height = 0, width = 0, channels = 0;
  std::span<const uint8_t> pixels;  // count * height * width * channels; none of photographs
  std::span<const int64_t> labels;  // count
  std::shared_ptr<const void> owner;
  PhotoFiles photos;
  int64_t skipped = 0;  // photographs that the import left out because they were damaged
};

struct LoadedDataset {
  std::string name, variant, sha256;  // sha256 of the packed content (pixels and labels)
  std::string source;                 // where it was imported from, as text
  int64_t classes = 0;
  bool lossy = false;                // e.g. CIFAR-10 through JPEG: tables carry a footnote
  std::vector<double> mean, stddev;  // per channel, of the training pixels in [0,1]
  ImageSet train, test;
  // Photographs: the shorter side that no image exceeds; 0 for images of one size.
  int64_t shorter_side = 0;
  std::vector<std::string> class_names;  // photographs: the folders, in the order of the labels
  // Of an import: files of operating systems that it skipped (core/data/junk.h). Not stored.
  int64_t junk = 0;

  bool has_photos() const { return shorter_side > 0; }
};

// A file that `data fetch` downloads. The checksum is the publisher's own.
struct RemoteFile {
  std::string url, file_name, md5, sha256;  // either checksum may be empty, not both
  int64_t bytes = 0;                        // 0: unknown
};

struct DatasetShape {
  int64_t classes = 0, channels = 0, height = 0, width = 0, n_train = 0, n_test = 0;

  bool operator==(const DatasetShape&) const = default;
};

// How large photographs are stored: larger ones are reduced until the shorter side is `side`, or
// with `of_longer` the longer one, as FFCV's writer does. 0: they stay as they are.
struct PhotoLimit {
  int64_t side = 0;
  bool of_longer = false;
};

// How a data set of photographs is imported from an image folder (core/data/photo_import.h).
struct PhotoFolder {
  int64_t shorter_side = 0;          // the limit, unless the import names another
  std::vector<std::string> classes;  // folders in the order of their labels; none: all, sorted
};

struct ImportOptions {
  // Photographs only: leaves out what cannot be decoded and says so of each, in the order of their
  // names, instead of refusing the whole.
  bool skip_damaged = false;
  std::function<void(const std::string& message)> on_skipped;
  std::optional<PhotoLimit> limit;  // photographs only; nothing: that of the data set
};

// A data set the program knows by name: one .cpp in core/datasets/.
struct DatasetEntry : EntryInfo, DatasetShape {
  static constexpr const char* kWhat = "data set";
  std::vector<RemoteFile> files;
  // Reads the official files (or an image folder) at `path` and returns the images in memory.
  LoadedDataset (*import)(const std::string& path) = nullptr;
  // Set instead of `import` for photographs, which are too many to be held in memory.
  std::optional<PhotoFolder> photos;
  // Set for a data set that comes with the program: reads it from there, no import needed.
  LoadedDataset (*embedded)() = nullptr;

  // What REGISTER_DATASET chains on.
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

// A data set as far as it is known without its images. Photographs that an import left out are
// counted where it was made of the entry.
struct DatasetOutline {
  std::string name;
  DatasetShape shape;
  bool photographs = false;  // of different sizes: the shape's is what training cuts out of them
};

DatasetOutline outline_of(const LoadedDataset& dataset);
DatasetOutline outline_of(const DatasetEntry& entry);

// The packed file of `name` in `data_dir`, or the embedded set. Error(kData) that says how to
// import it when it is missing, and names file, offset, expected and found when its size or
// (with `verify`) checksum is not what its header says.
LoadedDataset open_dataset(std::string_view name, const std::string& data_dir, bool verify = true);

// Reads the files at `path` as the data set `name`, writes its packed file into `data_dir` (made
// when missing) and opens that, with the number of junk files that were skipped. Error(kUsage) for
// an unknown name, one that needs no import, or options that it has not; Error(kData) for files
// that are not that data set.
LoadedDataset import_dataset(std::string_view name, const std::string& path,
                             const std::string& data_dir, const ImportOptions& options = {});

// `<data_dir>/<name>.packed`.
std::string packed_path(std::string_view name, const std::string& data_dir);

// Whether a run could have it: it is built in, or its packed file is there.
bool is_at_hand(const DatasetEntry& entry, const std::string& data_dir);

// What to run for a data set that is not here, for messages: "run: approxtrain data import mnist
// PATH", and before it `data fetch` where its publisher's files can be downloaded.
std::string how_to_get(std::string_view name);

// The checksum in the header of the packed file, "" when the data set is not there.
std::string dataset_checksum(std::string_view name, const std::string& data_dir);

}  // namespace approx

#define REGISTER_DATASET(NAME)                                                    \
  [[maybe_unused]] static ::approx::DatasetEntry& APPROX_UNIQUE(dataset_entry_) = \
      ::approx::Registry<::approx::DatasetEntry>::instance().add(NAME)
