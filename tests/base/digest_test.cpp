#include "base/digest.h"

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

TEST(Digest, MatchesPublishedVectors) {
  EXPECT_EQ(digest_hex("md5", bytes_of("abc")), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(digest_hex("sha256", bytes_of("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  const TemporaryFolder folder;
  write_bytes(folder / "abc", bytes_of("abc"));
  EXPECT_EQ(file_digest_hex("md5", folder / "abc"), "900150983cd24fb0d6963f7d28e17f72");
}

TEST(Sha256, MatchesPublishedVectors) {
  // FIPS 180-2, appendix B, and the empty text.
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(Digest, TakesItsContentInPieces) {
  Digest digest("sha256");
  digest.add(bytes_of("a")).add({}).add(bytes_of("bc"));
  const auto whole = sha256(bytes_of("abc"));
  EXPECT_EQ(digest.finish(), Buffer(whole.begin(), whole.end()));
}

}  // namespace
}  // namespace approx::testing
