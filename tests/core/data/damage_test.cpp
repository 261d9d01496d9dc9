// Every format from which a data set is read, cut at 20 places and with each of 100 bits turned; at
// 200 places and 1,000 bits where APPROXTRAIN_TEST_FULL is set. A cut is always found. So is a bit
// where the format has a checksum, unless it says nothing about the content. Elsewhere it gives
// another checksum, which is part of the key of a run.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <functional>

#include "core/data/cifar.h"
#include "core/data/idx.h"
#include "core/data/image_folder.h"
#include "core/data/packed.h"
#include "core/data/packed_photos.h"
#include "tests/core/data/archive_testing.h"
#include "tests/core/data/image_testing.h"

namespace approx::testing {
namespace {

const bool kFull = std::getenv("APPROXTRAIN_TEST_FULL") != nullptr;
const size_t kCuts = kFull ? 200 : 20, kBits = kFull ? 1000 : 100;

struct DataFormat {
  std::string name;
  Buffer good;
  // Reads the data set of which these bytes are a file. Returns its checksum.
  std::function<std::string(const Buffer&)> read;
  bool has_checksum = false;
};

struct DamageCounts {
  int64_t cuts = 0, refused = 0, same = 0, other = 0;
};

// Whether the file is refused by an Error(kData) of one line; `sha` is the checksum otherwise.
bool is_refused(const DataFormat& format, const Buffer& bytes, std::string& sha) {
  try {
    sha = format.read(bytes);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kData) << format.name << ": " << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
    return true;
  }
}

void damage(const DataFormat& format, DamageCounts& counts) {
  const std::string right = format.read(format.good);
  EXPECT_EQ(right.size(), 64U) << format.name;
  std::string sha;
  const size_t size = format.good.size();
  for (size_t i = 0; i < kCuts; ++i) {
    const auto end = format.good.begin() + static_cast<ptrdiff_t>(i * size / kCuts);
    EXPECT_TRUE(is_refused(format, Buffer(format.good.begin(), end), sha))
        << format.name << " cut to " << i * size / kCuts;
    ++counts.cuts;
  }
  int64_t refused = 0;
  for (size_t i = 0; i < kBits; ++i) {
    const size_t bit = i * (8 * size - 1) / (kBits - 1);
    Buffer altered = format.good;
    altered[bit / 8] ^= static_cast<uint8_t>(1U << (bit % 8));
    if (is_refused(format, altered, sha)) {
      ++refused;
    } else if (sha == right) {
      ++counts.same;
    } else {
      EXPECT_FALSE(format.has_checksum) << format.name << " bit " << bit;
      ++counts.other;
    }
  }
  if (format.has_checksum) {
    EXPECT_GT(refused, 0) << format.name;
  }
  counts.refused += refused;
}

Buffer idx_images(int count) {
  Buffer bytes = {0, 0, 8, 3, 0, 0, 0, static_cast<uint8_t>(count), 0, 0, 0, 7, 0, 0, 0, 6};
  for (int i = 0; i < count * 42; ++i) bytes.push_back(static_cast<uint8_t>(i * i / 5));
  return bytes;
}

Buffer cifar_records(int count) {
  Buffer bytes;
  for (int i = 0; i < count; ++i) {
    bytes.push_back(static_cast<uint8_t>(i % 10));
    for (int p = 0; p < 3072; ++p) bytes.push_back(static_cast<uint8_t>(p * p / 11 + 50 * i));
  }
  return bytes;
}

std::string idx_checksum(const Buffer& images) {
  const Buffer labels = {0, 0, 8, 1, 0, 0, 0, 3, 1, 0, 2};
  const auto buffer = read_idx_pair(images, "images", labels, "labels");
  return make_dataset({.name = "x", .source = "x", .classes = 3}, buffer, buffer).sha256;
}

std::string cifar_checksum(const std::string& path) {
  return read_cifar(
             path,
             {.train = {"train.bin"}, .test = {"test.bin"}, .train_count = 2, .test_count = 1},
             {.label_bytes = 1, .classes = 10}, {.name = "x", .source = "x", .classes = 10})
      .sha256;
}

std::string pictures_checksum(const std::string& path) {
  return read_image_folder(path, {.size = {16, 16, 3}, .classes = {}}, {.name = "x", .source = "x"})
      .sha256;
}

// The photographs are not decoded when the file is opened.
Buffer packed_photographs(const std::string& path) {
  LoadedDataset facts;
  facts.name = "photos";
  facts.variant = facts.source = "test";
  facts.shorter_side = 256;
  facts.class_names = {"a", "b"};
  facts.mean = facts.stddev = {0.1, 0.2, 0.3};
  facts.train.height = facts.train.width = 224;
  facts.train.channels = 3;
  const std::vector<SpooledPhoto> train = {{1, 3, 3}, {0, 0, 3}}, test = {{0, 6, 4}};
  write_packed_photos(facts, train, test, bytes_of("oneTWOtest"), path);
  return read_file(path, 1 << 20);
}

TEST(DamagedData, IsRefusedOrHasAnotherChecksum) {
  const TemporaryFolder folder;
  const auto path = [&](const char* name, const Buffer& bytes) {
    write_bytes(folder / name, bytes);
    return folder / name;
  };
  const Buffer picture = png(gradient(16, 16, 3), 16, 16);
  const Buffer photograph = jpeg(gradient(16, 16, 3), 16, 16);
  const Buffer cifar = tar_of({{"train.bin", cifar_records(2)}, {"test.bin", cifar_records(1)}});
  const Buffer pictures = tar_of({{"train/a/1.png", picture}, {"test/a/1.png", picture}});
  const Buffer photographs = tar_of({{"train/a/1.jpg", photograph}, {"test/a/1.jpg", photograph}});
  const auto images = some_images(3, 4, 4, 3, 3);
  write_packed(make_dataset({.name = "x", .source = "y", .classes = 3}, images, images),
               folder / "good.packed");
  for (const char* file : {"png/train/a/1.png", "png/test/a/1.png"}) path(file, picture);
  for (const char* file : {"jpg/train/a/1.jpg", "jpg/test/a/1.jpg"}) path(file, photograph);

  const auto read_cifar_file = [&](const Buffer& bytes) {
    return cifar_checksum(path("cifar.tar", bytes));
  };
  const auto read_pictures = [&](const Buffer& bytes) {
    return pictures_checksum(path("pictures.tar", bytes));
  };
  const auto read_packed = [&](const Buffer& bytes) {
    return open_packed(path("bad.packed", bytes), /*verify=*/true).sha256;
  };
  const std::vector<DataFormat> formats = {
      {"IDX", idx_images(3), idx_checksum},
      {"IDX, gzip", gzip(idx_images(3)), idx_checksum, true},
      {"CIFAR, binary", cifar_records(2),
       [&](const Buffer& bytes) {
         path("cifar/test.bin", cifar_records(1));
         path("cifar/train.bin", bytes);
         return cifar_checksum(folder / "cifar");
       }},
      {"CIFAR, tar", cifar, read_cifar_file},
      {"CIFAR, tar.gz", gzip(cifar), read_cifar_file, true},
      {"images, tar", pictures, read_pictures},
      {"images, tar.gz", gzip(photographs), read_pictures, true},
      {"images, folder of PNG", picture,
       [&](const Buffer& bytes) {
         path("png/train/a/1.png", bytes);
         return pictures_checksum(folder / "png");
       }},
      {"images, folder of JPEG", photograph,
       [&](const Buffer& bytes) {
         path("jpg/train/a/1.jpg", bytes);
         return pictures_checksum(folder / "jpg");
       }},
      {"packed images", read_file(folder / "good.packed", 1 << 20), read_packed, true},
      {"packed photographs", packed_photographs(folder / "photos.packed"), read_packed, true},
  };
  DamageCounts counts;
  for (const auto& format : formats) damage(format, counts);
  std::printf(
      "%zu formats: %lld cuts refused; of %lld bits %lld refused, %lld without effect, %lld read "
      "under another checksum, none of these in a format with a checksum\n",
      formats.size(), static_cast<long long>(counts.cuts),
      static_cast<long long>(counts.refused + counts.same + counts.other),
      static_cast<long long>(counts.refused), static_cast<long long>(counts.same),
      static_cast<long long>(counts.other));
}

}  // namespace
}  // namespace approx::testing
