#include "core/data/cifar.h"

#include "tests/core/data/archive_testing.h"

namespace approx::testing {
namespace {

constexpr CifarRecord kTen = {.label_bytes = 1, .classes = 10};
constexpr CifarRecord kHundred = {.label_bytes = 2, .classes = 100};

// `count` records whose pixel at (c, p) of image i is (i + 3 * p + 80 * c) mod 256.
Buffer records(int count, const CifarRecord& record) {
  Buffer bytes;
  for (int i = 0; i < count; ++i) {
    if (record.label_bytes == 2) bytes.push_back(static_cast<uint8_t>(i % 20));
    bytes.push_back(static_cast<uint8_t>((i * 7) % record.classes));
    for (int c = 0; c < 3; ++c) {
      for (int p = 0; p < 1024; ++p) bytes.push_back(static_cast<uint8_t>(i + 3 * p + 80 * c));
    }
  }
  return bytes;
}

TEST(Cifar, TurnsPlanesIntoPixels) {
  for (const auto& record : {kTen, kHundred}) {
    ImageBuffer buffer;
    append_cifar(records(2, record), "x.bin", record, 2, buffer);
    append_cifar(records(1, record), "y.bin", record, 1, buffer);
    EXPECT_EQ(buffer.labels, (std::vector<int64_t>{0, 7, 0}));
    ASSERT_EQ(buffer.pixels.size(), 3u * 3072);
    for (int p : {0, 31, 32, 1023}) {
      for (int c = 0; c < 3; ++c) {
        EXPECT_EQ(buffer.pixels[3072 + 3 * p + c], static_cast<uint8_t>(1 + 3 * p + 80 * c));
      }
    }
  }
}

TEST(Cifar, FindsCutsAndWrongLabels) {
  const auto read_binary = [](const Buffer& bytes) {
    ImageBuffer buffer;
    append_cifar(bytes, "data_batch_1.bin", kTen, 3, buffer);
  };
  const auto good = records(3, kTen);
  expect_damage_is_found(good, "data_batch_1.bin: at byte ", read_binary, 200, /*flips=*/false);
  auto label = good;
  label[3073] = 10;
  EXPECT_EQ(data_error_of([&] { read_binary(label); }),
            "data_batch_1.bin: at byte 3073: expected a label from 0 to 9, found 10");
  EXPECT_CONTAINS(data_error_of([&] { read_binary(records(4, kTen)); }), "expected 9219 bytes");
  ImageBuffer buffer;
  EXPECT_THROW(append_cifar(good, "x", kTen, INT64_MAX, buffer), Error);
  EXPECT_THROW(append_cifar(good, "x", kTen, -1, buffer), Error);
}

const CifarFiles kCifarFiles = {
    .train = {"data_1.bin", "data_2.bin"}, .test = {"test.bin"}, .train_count = 2, .test_count = 1};

LoadedDataset read_binary(const std::string& path) {
  return read_cifar(path, kCifarFiles, kTen, {.name = "x", .source = "x", .classes = 10});
}

TEST(Cifar, FolderAndArchiveAreTheSame) {
  const TemporaryFolder folder;
  const std::vector<std::pair<std::string, Buffer>> files = {
      {"batches/test.bin", records(1, kTen)},
      {"batches/data_2.bin", records(2, kTen)},
      {"batches/readme.html", bytes_of("<html>")},
      {"batches/data_1.bin", records(2, kTen)}};
  for (const auto& [name, bytes] : files) write_bytes(folder / name, bytes);
  write_bytes(folder / "x.tar.gz", gzip(tar_of(files)));
  const auto a = read_binary(folder / "batches"), b = read_binary(folder / "x.tar.gz");
  EXPECT_EQ(a.train.count, 4);
  EXPECT_EQ(a.test.count, 1);
  EXPECT_EQ(a.sha256, b.sha256);
}

TEST(Cifar, NamesMissingAndRepeatedFiles) {
  const TemporaryFolder folder;
  write_bytes(folder / "x/data_1.bin", records(2, kTen));
  write_bytes(folder / "x/test.bin", records(1, kTen));
  EXPECT_CONTAINS(data_error_of([&] { read_binary(folder / "x"); }), "expected data_2.bin in it");
  write_bytes(folder / "x/data_2.bin", records(1, kTen));
  EXPECT_CONTAINS(data_error_of([&] { read_binary(folder / "x"); }), "data_2.bin: at byte 3073");
  write_bytes(folder / "x/copy/data_1.bin", records(2, kTen));
  EXPECT_CONTAINS(data_error_of([&] { read_binary(folder / "x"); }), "expected one data_1.bin");
}

}  // namespace
}  // namespace approx::testing
