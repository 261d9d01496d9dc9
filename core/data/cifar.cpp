#include "core/data/cifar.h"

#include <filesystem>
#include <map>

#include "core/data/archive.h"

namespace approx {
namespace {

constexpr int64_t kSide = 32, kChannels = 3, kPlane = kSide * kSide, kPixels = kChannels * kPlane;

}  // namespace

void append_cifar(Bytes bytes, const std::string& name, const CifarRecord& record, int64_t count,
                  ImageBuffer& buffer) {
  const int64_t record_bytes = record.label_bytes + kPixels;
  const auto size = static_cast<int64_t>(bytes.size());
  const int64_t expected = checked_mul(record_bytes, count, name);
  if (size != expected) {
    throw data_error("{}: at byte {}: expected {} bytes ({} records of {}), found {}", name,
                     std::min(size, expected), expected, count, record_bytes, size);
  }
  buffer.height = buffer.width = kSide;
  buffer.channels = kChannels;
  buffer.pixels.reserve(buffer.pixels.size() + static_cast<size_t>(count * kPixels));
  for (int64_t i = 0; i < count; ++i) {
    const auto* at = bytes.data() + i * record_bytes;
    const int64_t label = at[record.label_bytes - 1];
    if (label >= record.classes) {
      throw data_error("{}: at byte {}: expected a label from 0 to {}, found {}", name,
                       i * record_bytes + record.label_bytes - 1, record.classes - 1, label);
    }
    buffer.labels.push_back(label);
    const auto* planes = at + record.label_bytes;  // [C,H,W]
    for (int64_t p = 0; p < kPlane; ++p) {
      for (int64_t c = 0; c < kChannels; ++c) buffer.pixels.push_back(planes[c * kPlane + p]);
    }
  }
}

LoadedDataset read_cifar(const std::string& path, const CifarFiles& files,
                         const CifarRecord& record, DatasetFacts facts) {
  std::map<std::string, std::pair<std::string, std::vector<uint8_t>>> found;  // by base name
  for (const auto& name : files.train) found[name];
  for (const auto& name : files.test) found[name];
  const auto base = [](std::string_view name) {
    return std::string(name.substr(name.rfind('/') + 1));
  };
  std::string first, folder;  // one of the files, and where it lies
  const int64_t junk = visit_files(
      path, {}, [&](std::string_view name) { return found.contains(base(name)); },
      [&](const std::string& place, std::string_view name, Bytes bytes) {
        auto& slot = found[base(name)];
        if (!slot.first.empty()) {
          throw data_error("{}: expected one {}, found another as {}", place, base(name),
                           slot.first);
        }
        slot = {place, {bytes.begin(), bytes.end()}};
        const auto own_folder = folder_text(place, name);
        if (first.empty()) {
          first = base(name);
          folder = own_folder;
        }
        if (own_folder != folder) {
          throw data_error(
              "{}: expected all files of the data set in one folder, found {} in {} and {} in {}",
              path, first, folder, base(name), own_folder);
        }
        return true;
      });
  const auto part = [&](const std::vector<std::string>& names, int64_t count) {
    ImageBuffer buffer;
    for (const auto& name : names) {
      const auto& [place, bytes] = found[name];
      if (place.empty()) throw data_error("{}: expected {} in it, found none", path, name);
      append_cifar(bytes, place, record, count, buffer);
    }
    return buffer;
  };
  auto train = part(files.train, files.train_count);
  auto test = part(files.test, files.test_count);
  auto dataset = make_dataset(std::move(facts), std::move(train), std::move(test));
  dataset.junk = junk;
  return dataset;
}

}  // namespace approx
