#include "core/data/dataset.h"

#include <filesystem>

#include "base/files.h"
#include "base/user_folders.h"
#include "core/data/packed.h"
#include "core/data/photo_import.h"

namespace approx {
namespace {

std::string text_of(const DatasetShape& shape) {
  return fmt::format("{} + {} images of {}x{}x{} in {} classes", shape.n_train, shape.n_test,
                     shape.height, shape.width, shape.channels, shape.classes);
}

void check_shape(const LoadedDataset& dataset, const DatasetEntry& entry,
                 const std::string& place) {
  auto found = shape_of(dataset);
  found.n_train += dataset.train.skipped;
  found.n_test += dataset.test.skipped;
  if (found != static_cast<const DatasetShape&>(entry)) {
    throw data_error("{}: expected {} with {}, found {}", place, entry.name, text_of(entry),
                     text_of(found));
  }
}

const DatasetEntry& find_entry(std::string_view name) {
  return Registry<DatasetEntry>::instance().find(name);
}

}  // namespace

DatasetShape shape_of(const LoadedDataset& dataset) {
  return {.classes = dataset.classes,
          .channels = dataset.train.channels,
          .height = dataset.train.height,
          .width = dataset.train.width,
          .n_train = dataset.train.count,
          .n_test = dataset.test.count};
}

DatasetOutline outline_of(const LoadedDataset& dataset) {
  return {dataset.name, shape_of(dataset), dataset.has_photos()};
}

DatasetOutline outline_of(const DatasetEntry& entry) {
  return {entry.name, entry, entry.photos.has_value()};
}

std::string how_to_get(std::string_view name) {
  const bool published = !find_entry(name).files.empty();
  return fmt::format("run: {}approxtrain data import {} PATH",
                     published ? fmt::format("approxtrain data fetch {}, or: ", name) : "", name);
}

std::string packed_path(std::string_view name, const std::string& data_dir) {
  if (data_dir.empty()) {
    throw usage_error(
        "--data-dir: the default folder cannot be used ({}); data set {} needs --data-dir DIR",
        data_folder().problem, name);
  }
  return (std::filesystem::path(data_dir) / fmt::format("{}.packed", name)).string();
}

bool is_at_hand(const DatasetEntry& entry, const std::string& data_dir) {
  std::error_code error;
  if (entry.embedded != nullptr) return true;
  return !data_dir.empty() && std::filesystem::exists(packed_path(entry.name, data_dir), error);
}

LoadedDataset open_dataset(std::string_view name, const std::string& data_dir, bool verify) {
  const auto& entry = find_entry(name);
  if (entry.embedded != nullptr) return entry.embedded();
  const auto path = packed_path(name, data_dir);
  if (!is_at_hand(entry, data_dir)) {
    throw data_error("data set {} is missing ({} does not exist); {}", name, path,
                     how_to_get(name));
  }
  auto dataset = open_packed(path, verify);
  if (dataset.name != entry.name) {
    throw data_error("{}: expected the data set {}, found {}", path, entry.name, dataset.name);
  }
  check_shape(dataset, entry, path);
  return dataset;
}

LoadedDataset import_dataset(std::string_view name, const std::string& path,
                             const std::string& data_dir, const ImportOptions& options) {
  const auto& entry = find_entry(name);
  if (entry.embedded != nullptr) {
    throw usage_error("data set {} comes with the program; there is nothing to import", name);
  }
  if (entry.photos) {
    const auto check = [&](const LoadedDataset& dataset) { check_shape(dataset, entry, path); };
    const int64_t junk = import_photos(path, entry, packed_path(name, data_dir), options, check);
    auto photos = open_dataset(name, data_dir, /*verify=*/true);
    photos.junk = junk;
    return photos;
  }
  if (options.limit) {
    throw usage_error("only photographs can be shrunk, and {} has images of one size", name);
  }
  if (options.skip_damaged) {
    throw usage_error("only photographs can be skipped: {} must be complete to be {}", path, name);
  }
  const auto dataset = entry.import(path);
  check_shape(dataset, entry, path);
  make_folder(data_dir);
  write_packed(dataset, packed_path(name, data_dir));
  auto packed = open_dataset(name, data_dir, /*verify=*/true);
  packed.junk = dataset.junk;
  return packed;
}

std::string dataset_checksum(std::string_view name, const std::string& data_dir) {
  const auto& entry = find_entry(name);
  if (entry.embedded != nullptr) return entry.embedded().sha256;
  const auto path = packed_path(name, data_dir);
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return "";
  return packed_checksum(path);
}

}  // namespace approx
