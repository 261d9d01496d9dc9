// The binary files of CIFAR-10 and CIFAR-100, by themselves and in an archive. Records are long and
// alike, so an input has their labels and a byte of pixels each: the file is made of these, of a
// stated length.
#include "core/data/cifar.h"
#include "tests/core/data/archive_testing.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr size_t kPixelsOfRecord = 3072;
constexpr int64_t kMostRecords = 8;

enum Flags : uint8_t { kCoarse = 1, kArchive = 2, kGzip = 4 };

// As many records as there are pairs of bytes, cut or grown by `change` bytes.
Buffer cifar_file(Bytes labels, size_t label_bytes, int change) {
  Buffer file;
  for (size_t i = 0; i + label_bytes < labels.size(); i += label_bytes + 1) {
    file.insert(file.end(), labels.begin() + static_cast<ptrdiff_t>(i),
                labels.begin() + static_cast<ptrdiff_t>(i + label_bytes));
    file.insert(file.end(), kPixelsOfRecord, labels[i + label_bytes]);
  }
  const auto size = static_cast<ptrdiff_t>(file.size()) + change;
  file.resize(static_cast<size_t>(std::max<ptrdiff_t>(0, size)));
  return file;
}

void read_archive(const Buffer& file, const CifarRecord& record, int64_t count, bool packed,
                  Bytes name) {
  const std::string test_name =
      "test" + std::string(text_of(name.first(std::min<size_t>(name.size(), 20))));
  Buffer archive = testing::tar_of({{"data/train", file}, {test_name.c_str(), file}});
  if (packed) archive = testing::gzip(archive);
  const auto path = scratch_file("cifar", archive);
  const CifarFiles files{
      .train = {"train"}, .test = {"test"}, .train_count = count, .test_count = count};
  accepted(ErrorKind::kData, [&] {
    const auto dataset =
        read_cifar(path, files, record, {.name = "x", .source = path, .classes = record.classes});
    expect(dataset.train.count == count && dataset.test.count == count, "all records are read");
  });
}

}  // namespace

void run(Bytes bytes) {
  Input input(bytes);
  const uint8_t flags = input.byte();
  const int64_t count = input.byte() % (kMostRecords + 1);
  const int change = (input.byte() ^ 0x80) - 0x80;  // -128 to 127
  const CifarRecord record{.label_bytes = flags & kCoarse ? 2 : 1,
                           .classes = flags & kCoarse ? 100 : 10};
  const Bytes labels = input.rest().first(std::min<size_t>(input.rest().size(), 32));
  const Buffer file = cifar_file(labels, static_cast<size_t>(record.label_bytes), change);
  if (flags & kArchive) {
    read_archive(file, record, count, (flags & kGzip) != 0, input.rest().subspan(labels.size()));
    return;
  }
  ImageBuffer buffer;
  accepted(ErrorKind::kData, [&] {
    append_cifar(file, "x", record, count, buffer);
    expect(static_cast<int64_t>(buffer.labels.size()) == count, "all records are read");
  });
  // Whatever the content: bytes of which nobody knows where they come from.
  accepted(ErrorKind::kData, [&] { append_cifar(input.rest(), "x", record, count, buffer); });
}

std::vector<Buffer> seeds() {
  const Buffer labels = {3, 0, 9, 255, 0, 7};
  std::vector<Buffer> all;
  for (const uint8_t flags : {0, +kCoarse, +kArchive, kArchive | kGzip, kArchive | kCoarse}) {
    Buffer bytes = {flags, static_cast<uint8_t>(flags & kCoarse ? 2 : 3), 0};
    bytes.insert(bytes.end(), labels.begin(), labels.end());
    all.push_back(bytes);
  }
  return all;
}

}  // namespace approx::fuzz
