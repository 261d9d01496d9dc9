#include "core/data/bytes.h"

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

TEST(CheckedSizes, RefuseWhatDoesNotFit) {
  EXPECT_EQ(checked_mul(1 << 20, 1 << 20, "x"), int64_t{1} << 40);
  EXPECT_EQ(checked_add(INT64_MAX - 1, 1, "x"), INT64_MAX);
  EXPECT_THROW(checked_mul(INT64_MAX, 2, "x"), Error);
  EXPECT_THROW(checked_add(INT64_MAX, 1, "x"), Error);
  EXPECT_THROW(checked_mul(-1, 2, "x"), Error);
  EXPECT_CONTAINS(data_error_of([] { checked_mul(INT64_MAX, 3, "file.idx"); }), "file.idx");
}

TEST(Gunzip, ReadsOneAndSeveralMembers) {
  const auto a = gzip(bytes_of("first ")), b = gzip(bytes_of("second"));
  EXPECT_EQ(gunzip(a, "a.gz", 100), bytes_of("first "));
  auto both = a;
  both.insert(both.end(), b.begin(), b.end());
  EXPECT_EQ(gunzip(both, "ab.gz", 100), bytes_of("first second"));
}

TEST(Gunzip, FindsEveryCutAndNearlyEveryBit) {
  Buffer content;
  for (int i = 0; i < 5000; ++i) content.push_back(static_cast<uint8_t>(i * i / 7));
  const auto compressed = gzip(content);
  const auto read = [&](const Buffer& bytes) {
    if (gunzip(bytes, "x.gz", 1 << 20) != content) FAIL() << "other content was accepted";
  };
  expect_damage_is_found(compressed, "x.gz", read, 300, /*flips=*/false);
  // The time and system fields of the header say nothing about the content: what is accepted must
  // be the content itself.
  for (size_t bit = 0; bit < compressed.size() * 8; bit += 7) {
    auto altered = compressed;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    try {
      read(altered);
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_CONTAINS(std::string(error.what()), "x.gz: at byte ");
    }
  }
}

TEST(Gunzip, RefusesTrailingGarbageAndBombs) {
  auto garbage = gzip(bytes_of("text"));
  garbage.push_back('x');
  EXPECT_CONTAINS(data_error_of([&] { gunzip(garbage, "x.gz", 100); }), "x.gz");
  const auto bomb = gzip(Buffer(10 << 20));
  EXPECT_LT(bomb.size(), 20000u);
  EXPECT_CONTAINS(data_error_of([&] { gunzip(bomb, "x.gz", 1 << 20); }), "at most 1048576 bytes");
}

}  // namespace
}  // namespace approx::testing
