#include "core/data/packed_photos.h"

#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

LoadedDataset facts() {
  LoadedDataset dataset;
  dataset.name = "photos";
  dataset.variant = "test";
  dataset.source = "a \"source\" with \xff in it";
  dataset.class_names = {"a", "b"};
  dataset.shorter_side = 256;
  dataset.lossy = true;
  dataset.mean = {0.1, 0.2, 0.3};
  dataset.stddev = {0.4, 0.5, 0.6};
  dataset.train.height = dataset.train.width = 224;
  dataset.train.channels = 3;
  dataset.train.skipped = 2;
  return dataset;
}

const Buffer kSpool = bytes_of("oneTWOtesttwo!");
const std::vector<SpooledPhoto> kTrain = {{1, 3, 3}, {0, 0, 3}, {1, 10, 4}};
const std::vector<SpooledPhoto> kTest = {{0, 6, 4}};

std::string text(std::span<const uint8_t> bytes) { return {bytes.begin(), bytes.end()}; }

TEST(PackedPhotos, RoundTrip) {
  const TemporaryFolder folder;
  const auto path = folder / "x.packed";
  write_packed_photos(facts(), kTrain, kTest, kSpool, path);
  EXPECT_EQ(folder.files(), 1);
  const auto read = open_packed(path, /*verify=*/true);
  EXPECT_EQ(read.name, "photos");
  EXPECT_EQ(read.variant, "test");
  EXPECT_EQ(read.source, "a \"source\" with \xef\xbf\xbd in it");
  EXPECT_EQ(read.classes, 2);
  EXPECT_EQ(read.class_names, facts().class_names);
  EXPECT_EQ(read.shorter_side, 256);
  EXPECT_TRUE(read.lossy);
  EXPECT_EQ(read.mean, facts().mean);
  EXPECT_EQ(read.stddev, facts().stddev);
  EXPECT_EQ(read.train.height, 224);
  EXPECT_EQ(read.train.skipped, 2);
  ASSERT_EQ(read.train.count, 3);
  EXPECT_EQ(text(read.train.photos.file(0)), "TWO");
  EXPECT_EQ(text(read.train.photos.file(1)), "one");
  EXPECT_EQ(text(read.train.photos.file(2)), "two!");
  EXPECT_EQ(text(read.test.photos.file(0)), "test");
  EXPECT_EQ(read.train.labels[0], 1);
  EXPECT_TRUE(read.train.pixels.empty());
  EXPECT_EQ(packed_checksum(path), read.sha256);
}

TEST(PackedPhotos, EveryCutAndEveryBitIsFound) {
  const TemporaryFolder folder;
  const auto path = folder / "x.packed";
  write_packed_photos(facts(), kTrain, kTest, kSpool, path);
  const auto bytes = read_file(path, 1 << 20);
  expect_damage_is_found(
      bytes, "x.packed",
      [&](const Buffer& altered) {
        write_bytes(path, altered);
        open_packed(path, /*verify=*/true);
      },
      bytes.size());
}

// Without the checksum an index that leaves its file must be found by itself.
TEST(PackedPhotos, AnIndexOutOfRangeIsFoundWithoutTheChecksum) {
  const TemporaryFolder folder;
  const auto path = folder / "x.packed";
  write_packed_photos(facts(), kTrain, kTest, kSpool, path);
  const auto bytes = read_file(path, 1 << 20);
  const auto header = read_packed_header(bytes, path);
  const auto at = static_cast<size_t>(header.payload_at);
  const auto error = [&](size_t word, int64_t value) {
    auto altered = bytes;
    std::memcpy(altered.data() + at + 8 * word, &value, sizeof(value));
    write_bytes(path, altered);
    return data_error_of([&] { open_packed(path, /*verify=*/false); });
  };
  // Starts 0, 3, 6, 10 of the training files; then, from the next multiple of 64, their labels.
  EXPECT_CONTAINS(error(0, 1), "expected files from byte 0 to 10, found them from 1 to 10");
  EXPECT_CONTAINS(error(0, -1), "training image 0: expected a file within 10 bytes");
  EXPECT_CONTAINS(error(1, 0), "training image 0");
  EXPECT_CONTAINS(error(1, 7), "training image 1");
  EXPECT_CONTAINS(error(2, int64_t{1} << 62), "training image 1");
  EXPECT_CONTAINS(error(3, 11), "training image 2");
  EXPECT_CONTAINS(error(3, 9), "expected files from byte 0 to 10, found them from 0 to 9");
  EXPECT_CONTAINS(error(8, 2), "expected a label from 0 to 1, found 2");
  EXPECT_CONTAINS(error(8, -1), "found -1");
}

TEST(PackedPhotos, HeadersThatLieAreFound) {
  const TemporaryFolder folder;
  const auto path = folder / "x.packed";
  write_packed_photos(facts(), kTrain, kTest, kSpool, path);
  const auto good = read_packed_header(read_file(path, 1 << 20), path).json;
  const auto error = [&](const std::function<void(Json&)>& change) {
    Json json = good;
    change(json);
    const auto payload = json.value("payload_bytes", int64_t{0});
    // A writer that writes what it is told, with right checksums.
    PackedWriter writer(path, kPhotosVersion, json, payload);
    writer.write(Buffer(512));
    writer.finish(json["sha256"]);
    return data_error_of([&] { open_packed(path, /*verify=*/false); });
  };
  const auto huge = int64_t{1} << 62;
  EXPECT_CONTAINS(error([&](Json& j) { j["train"]["count"] = huge; }), "x.packed: ");
  EXPECT_CONTAINS(error([&](Json& j) { j["train"]["file_bytes"] = huge; }), "x.packed: ");
  EXPECT_CONTAINS(error([](Json& j) { j["train"]["file_bytes"] = -1; }), "x.packed: ");
  EXPECT_CONTAINS(error([](Json& j) { j["train"]["count"] = 0; }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j["train"]["skipped"] = -1; }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j["train"]["files"] = 64; }), "offsets that follow");
  EXPECT_CONTAINS(error([](Json& j) { j["classes"] = Json::array(); }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j["classes"] = 2; }), "header of photographs");
  EXPECT_CONTAINS(error([](Json& j) { j["shorter_side"] = 0; }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j["size"] = int64_t{1} << 40; }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j["channels"] = 1; }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j["stddev"] = {0.1, 0, 0.1}; }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j["mean"] = {0.1}; }), "possible sizes");
  EXPECT_CONTAINS(error([](Json& j) { j.erase("train"); }), "header of photographs");
  // More than 64 bits: a double to the parser.
  EXPECT_CONTAINS(error([](Json& j) { j["train"]["skipped"] = 1e40; }), "1e+40 is no whole number");
  EXPECT_CONTAINS(error([](Json& j) { j["train"]["count"] = 3.5; }), "3.5 is no whole number");
  EXPECT_CONTAINS(error([](Json& j) { j["train"]["labels"] = uint64_t{1} << 63; }),
                  "9223372036854775808 is no whole number");
}

TEST(PackedPhotos, AFileOfAnotherKindIsNotTakenForPhotographs) {
  const TemporaryFolder folder;
  const auto path = folder / "x.packed";
  PackedWriter writer(path, kPhotosVersion, {{"name", "x"}, {"height", 3}}, 0);
  writer.finish(std::string(64, '0'));
  EXPECT_CONTAINS(data_error_of([&] { open_packed(path, true); }), "header of photographs");
  EXPECT_CONTAINS(data_error_of([&] { packed_checksum(path); }), "header of photographs");
}

}  // namespace
}  // namespace approx::testing
