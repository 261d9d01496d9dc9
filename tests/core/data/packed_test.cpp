#include "core/data/packed.h"

#include <sys/resource.h>

#include <csignal>

#include "base/digest.h"
#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

LoadedDataset small_dataset() {
  return make_dataset({.name = "small",
                       .variant = "test",
                       .source = "a \"source\" with \xff in it",
                       .classes = 3,
                       .lossy = true},
                      some_images(5, 3, 7, 2, 3), some_images(4, 3, 7, 2, 3, /*salt=*/9));
}

template <typename T>
std::vector<T> copy(std::span<const T> values) {
  return {values.begin(), values.end()};
}

TEST(Packed, RoundTrip) {
  const TemporaryFolder folder;
  const auto path = folder / "small.packed";
  const auto written = small_dataset();
  write_packed(written, path);
  EXPECT_EQ(folder.files(), 1);
  const auto read = open_packed(path, /*verify=*/true);
  EXPECT_EQ(read.name, "small");
  EXPECT_EQ(read.variant, "test");
  EXPECT_EQ(read.source, "a \"source\" with \xef\xbf\xbd in it");
  EXPECT_EQ(read.classes, 3);
  EXPECT_TRUE(read.lossy);
  EXPECT_EQ(read.mean, written.mean);
  EXPECT_EQ(read.stddev, written.stddev);
  EXPECT_EQ(read.sha256, written.sha256);
  EXPECT_EQ(shape_of(read), shape_of(written));
  EXPECT_EQ(copy(read.train.pixels), copy(written.train.pixels));
  EXPECT_EQ(copy(read.test.pixels), copy(written.test.pixels));
  EXPECT_EQ(copy(read.train.labels), copy(written.train.labels));
  EXPECT_EQ(copy(read.test.labels), copy(written.test.labels));
  EXPECT_EQ(packed_checksum(path), written.sha256);
}

TEST(Packed, BytesOutliveTheDataset) {
  const TemporaryFolder folder;
  ImageSet kept;
  {
    write_packed(small_dataset(), folder / "x");
    kept = open_packed(folder / "x", true).train;
  }
  write_packed(small_dataset(), folder / "x");  // replaces the mapped file
  EXPECT_EQ(copy(kept.pixels), copy(small_dataset().train.pixels));
}

TEST(Packed, EveryCutAndEveryBitIsFound) {
  const TemporaryFolder folder;
  write_packed(small_dataset(), folder / "good");
  const auto bytes = read_file(folder / "good", 1 << 20);
  const auto read = [&](const Buffer& altered) {
    write_bytes(folder / "bad.packed", altered);
    open_packed(folder / "bad.packed", /*verify=*/true);
  };
  expect_damage_is_found(bytes, "bad.packed", read, 1500);
  auto longer = bytes;
  longer.push_back(0);
  EXPECT_CONTAINS(
      data_error_of([&] { read(longer); }),
      fmt::format("at byte {0}: expected {0} bytes, found {1}", bytes.size(), bytes.size() + 1));
}

TEST(Packed, WithoutVerifyingNothingCrashes) {
  const TemporaryFolder folder;
  write_packed(small_dataset(), folder / "good");
  const auto bytes = read_file(folder / "good", 1 << 20);
  for (size_t bit = 0; bit < bytes.size() * 8; bit += 11) {
    auto altered = bytes;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    write_bytes(folder / "bad.packed", altered);
    try {
      const auto dataset = open_packed(folder / "bad.packed", /*verify=*/false);
      for (const auto label : dataset.train.labels) ASSERT_LT(label, dataset.classes);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kData);
    }
  }
}

// A file whose header is what `change` makes of a good one, checksum of the header included.
template <typename Change>
std::string header_error(const TemporaryFolder& folder, Change change) {
  write_packed(small_dataset(), folder / "good");
  auto bytes = read_file(folder / "good", 1 << 20);
  const size_t header = bytes[12] | bytes[13] << 8;
  auto json = Json::parse(bytes.begin() + 64, bytes.begin() + 64 + header);
  change(json);
  auto text = json.dump();
  text.resize((text.size() + 63) / 64 * 64, ' ');
  Buffer altered(bytes.begin(), bytes.begin() + 64);
  altered[12] = static_cast<uint8_t>(text.size());
  altered[13] = static_cast<uint8_t>(text.size() >> 8);
  const auto hex = digest_hex("sha256", bytes_of(text));
  for (size_t i = 0; i < 32; ++i) {
    altered[16 + i] = static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
  }
  altered.insert(altered.end(), text.begin(), text.end());
  altered.insert(altered.end(), bytes.begin() + 64 + header, bytes.end());
  write_bytes(folder / "bad.packed", altered);
  return data_error_of([&] { open_packed(folder / "bad.packed", false); });
}

TEST(Packed, RefusesHeadersThatLie) {
  const TemporaryFolder folder;
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["height"] = INT64_MAX; }), "possible");
  EXPECT_CONTAINS(header_error(folder,
                               [](Json& j) {
                                 j["height"] = 1 << 24;
                                 j["width"] = 1 << 24;
                                 j["train"]["count"] = INT64_MAX;
                               }),
                  "impossible");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["train"]["count"] = -1; }), "possible");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["train"]["count"] = 60; }), "offsets");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["test"]["labels"] = 0; }), "offsets");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["classes"] = 0; }), "possible");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["classes"] = 2; }), "expected a label");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["stddev"] = {0.5, 0.0}; }), "possible");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["mean"] = {0.5}; }), "possible");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["mean"] = "x"; }), "JSON header");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j.erase("sha256"); }), "JSON header");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j["test"]["count"] = 1e40; }),
                  "1e+40 is no whole number");
  EXPECT_CONTAINS(header_error(folder, [](Json& j) { j = Json::array(); }), "JSON header");
}

TEST(Packed, RefusesOtherFiles) {
  const TemporaryFolder folder;
  write_bytes(folder / "text", Buffer(1000, 'x'));
  EXPECT_CONTAINS(data_error_of([&] { open_packed(folder / "text", true); }), "at byte 0");
  write_bytes(folder / "empty", {});
  EXPECT_CONTAINS(data_error_of([&] { open_packed(folder / "empty", true); }), "at byte 0");
  EXPECT_CONTAINS(data_error_of([&] { open_packed(folder.path(), true); }), "regular file");
  EXPECT_CONTAINS(data_error_of([&] { open_packed(folder / "none", true); }), "No such file");
}

TEST(Packed, AFullDiskLeavesTheOldFile) {
  const TemporaryFolder folder;
  write_packed(small_dataset(), folder / "x");
  std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  getrlimit(RLIMIT_FSIZE, &old);
  const rlimit small = {.rlim_cur = 100, .rlim_max = old.rlim_max};
  setrlimit(RLIMIT_FSIZE, &small);
  const auto message = data_error_of([&] { write_packed(small_dataset(), folder / "x"); });
  setrlimit(RLIMIT_FSIZE, &old);
  EXPECT_CONTAINS(message, "it needs ");
  EXPECT_EQ(folder.files(), 1);
  EXPECT_NO_THROW(open_packed(folder / "x", true));
  EXPECT_CONTAINS(data_error_of([&] { write_packed(small_dataset(), folder / "none/x"); }),
                  "cannot be written");
}

TEST(MakeDataset, ComputesNormalisation) {
  ImageBuffer train{
      .height = 1, .width = 2, .channels = 2, .pixels = {0, 7, 255, 7}, .labels = {0}};
  const auto dataset = make_dataset({.source = "s", .classes = 1}, train, train);
  EXPECT_EQ(dataset.mean, (std::vector<double>{0.5, 7 / 255.0}));
  EXPECT_EQ(dataset.stddev, (std::vector<double>{0.5, 1.0}));  // a constant channel divides by 1
}

TEST(MakeDataset, RefusesPartsThatDoNotFit) {
  const auto images = [](int64_t n, int64_t side) { return some_images(n, side, side, 1, 2); };
  const auto error = [](ImageBuffer train, ImageBuffer test, int64_t classes) {
    return data_error_of(
        [&] { make_dataset({.source = "here", .classes = classes}, train, test); });
  };
  EXPECT_CONTAINS(error(images(2, 4), images(2, 5), 2), "here: expected test images of 4x4x1");
  EXPECT_CONTAINS(error(images(2, 4), {}, 2), "found 2 and 0");
  EXPECT_CONTAINS(error(images(2, 4), images(2, 4), 1), "training part: image 1: expected a label");
}

}  // namespace
}  // namespace approx::testing
