#include "core/data/idx.h"

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

Buffer idx(const std::vector<uint32_t>& dims, const Buffer& values) {
  Buffer bytes = {0, 0, 8, static_cast<uint8_t>(dims.size())};
  for (const auto dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8)
      bytes.push_back(static_cast<uint8_t>(dim >> shift));
  }
  bytes.insert(bytes.end(), values.begin(), values.end());
  return bytes;
}

const Buffer kValues = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};

TEST(Idx, ReadsImagesAndLabels) {
  const auto images = idx({2, 2, 3}, kValues), labels = idx({2}, {7, 3});
  for (const bool packed : {false, true}) {
    const auto buffer = read_idx_pair(packed ? gzip(images) : images, "i", labels, "l");
    EXPECT_EQ(buffer.height, 2);
    EXPECT_EQ(buffer.width, 3);
    EXPECT_EQ(buffer.channels, 1);
    EXPECT_EQ(buffer.pixels, kValues);
    EXPECT_EQ(buffer.labels, (std::vector<int64_t>{7, 3}));
  }
}

TEST(Idx, FindsDamage) {
  const auto labels = idx({2}, {7, 3});
  const auto read = [&](const Buffer& images) {
    read_idx_pair(images, "images", labels, "labels");
  };
  expect_damage_is_found(idx({2, 2, 3}, kValues), "images", read, 200, /*flips=*/false);
  // All of the header matters: a flipped bit in any dimension leaves the wrong size.
  const auto good = idx({2, 2, 3}, kValues);
  for (size_t bit = 0; bit < 16 * 8; ++bit) {
    auto altered = good;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    EXPECT_CONTAINS(data_error_of([&] { read(altered); }), "images: at byte ");
  }
  auto longer = good;
  longer.push_back(0);
  EXPECT_CONTAINS(data_error_of([&] { read(longer); }), "images: at byte 28: expected 28 bytes");
}

TEST(Idx, RefusesImpossibleSizesBeforeAllocating) {
  const auto huge = idx({0xffffffff, 0xffffffff, 0xffffffff}, {});
  EXPECT_CONTAINS(data_error_of([&] { parse_idx(huge, "x"); }), "impossible");
  const auto large = idx({0x7fffffff, 28, 28}, kValues);
  EXPECT_CONTAINS(data_error_of([&] { parse_idx(large, "x"); }), "found 28");
  EXPECT_CONTAINS(data_error_of([&] { parse_idx(idx({1, 1, 1, 1, 1}, {0}), "x"); }), "dimensions");
  const auto no_pixels = idx({2, 0, 3}, {}), labels = idx({2}, {0, 0});
  EXPECT_CONTAINS(data_error_of([&] { read_idx_pair(no_pixels, "x", labels, "y"); }), "0x3");
}

TEST(Idx, RefusesFilesThatDoNotBelongTogether) {
  const auto images = idx({2, 2, 3}, kValues);
  EXPECT_CONTAINS(data_error_of([&] {
                    read_idx_pair(images, "i", idx({3}, {0, 0, 0}), "l");
                  }),
                  "l: at byte 4: expected 2 labels");
  EXPECT_CONTAINS(data_error_of([&] { read_idx_pair(images, "i", images, "l"); }), "l: at byte 3");
  EXPECT_CONTAINS(data_error_of([&] {
                    read_idx_pair(idx({2}, {0, 0}), "i", images, "l");
                  }),
                  "i: at byte 3");
}

// Zeros shrink to a thousandth: what they would be again is refused before it is.
TEST(Idx, AFileThatGrowsWithoutEndTakesLittleMemory) {
  if (!kMemoryIsCounted) GTEST_SKIP() << "under a sanitizer memory says nothing";
  const auto bomb = gzip(Buffer(400 << 20));
  EXPECT_LT(bomb.size(), 1u << 20);
  EXPECT_TRUE(fits_in(256 << 20, [&] {
    const auto error = data_error_of([&] { read_idx_pair(bomb, "i", idx({1}, {0}), "l"); });
    if (error.find("at most 67108864 bytes") == std::string::npos) throw data_error("{}", error);
  }));
}

}  // namespace
}  // namespace approx::testing
