// Mutated image files and packed files: an error with a place, or a picture; nothing else. Draws
// are fixed, so a failure comes again; APPROXTRAIN_FUZZ_ROUNDS makes it longer.
#include "base/digest.h"
#include "core/data/packed_photos.h"
#include "core/data/photo_loader.h"
#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

int64_t rounds(int64_t fallback) {
  const char* text = std::getenv("APPROXTRAIN_FUZZ_ROUNDS");
  return text ? std::atoll(text) : fallback;
}

// One to a few changes of a file: bits, bytes that decoders find interesting, cuts, repeats, and
// pieces of another file.
Buffer mutated(const Buffer& file, const Buffer& other, uint64_t round) {
  uint32_t next = 0;
  const auto draw = [&](size_t n) {
    const Rng rng{.seed = 11, .step = round, .stream = kAugmentStream};
    const auto word = rng.block(next / 4)[next % 4];
    ++next;
    return static_cast<size_t>(Rng::below(static_cast<uint32_t>(std::max<size_t>(1, n)), word));
  };
  auto bytes = file;
  const size_t changes = 1 + draw(4);
  for (size_t change = 0; change < changes && !bytes.empty(); ++change) {
    const size_t at = draw(2) == 0 ? draw(std::min<size_t>(bytes.size(), 700)) : draw(bytes.size());
    const auto here = bytes.begin() + static_cast<ptrdiff_t>(at);
    const size_t length = std::min(bytes.size() - at, 1 + draw(40));
    const uint8_t interesting[] = {0,    1,    0x7f, 0x80, 0xff, 0xd8,
                                   0xd9, 0xda, 0xc0, 0xc2, 0xc4, 0xdd};
    switch (draw(7)) {
      case 0:
        *here ^= static_cast<uint8_t>(1u << draw(8));
        break;
      case 1:
        *here = interesting[draw(std::size(interesting))];
        break;
      case 2:
        bytes.resize(at);
        break;
      case 3:
        bytes.erase(here, here + static_cast<ptrdiff_t>(length));
        break;
      case 4: {
        const Buffer again(here, here + static_cast<ptrdiff_t>(length));
        bytes.insert(here, again.begin(), again.end());
        break;
      }
      case 5:
        std::fill(here, here + static_cast<ptrdiff_t>(length), interesting[draw(5)]);
        break;
      default: {
        const size_t from = draw(other.size());
        const size_t n = std::min(length, other.size() - from);
        std::copy_n(other.begin() + static_cast<ptrdiff_t>(from), n, here);
      }
    }
  }
  return bytes;
}

TEST(PhotoFuzz, FilesAreDecodedOrRefused) {
  const auto picture = waves(40, 56);
  const std::vector<Buffer> corpus = {
      jpeg_of(picture),
      jpeg_of(picture, TJFLAG_PROGRESSIVE),
      jpeg(Buffer(40 * 56, 99), 56, 40, TJPF_GRAY),
      jpeg(Buffer(40 * 56 * 4, 99), 56, 40, TJPF_CMYK),
      png(picture.pixels, 56, 40),
      png(Buffer(40 * 56, 9), 56, 40, PNG_FORMAT_GRAY),
      png(Buffer(40 * 56 * 4, 9), 56, 40, PNG_FORMAT_RGBA),
  };
  PhotoConverter converter({.side = 32});
  PhotoViewer viewer;
  Buffer out(48 * 48 * 3);
  int64_t refused = 0, decoded = 0;
  for (int64_t round = 0; round < rounds(60'000); ++round) {
    const auto i = static_cast<size_t>(round);
    const auto file = mutated(corpus[i % corpus.size()], corpus[i / 7 % corpus.size()], i);
    try {
      const auto kept = converter.convert(file, "x");
      const PhotoView view{.size = static_cast<int64_t>(1 + i % 48),
                           .random = i % 2 == 0,
                           .may_flip = true,
                           .rng = {.seed = 1},
                           .index = static_cast<uint32_t>(i % 4096)};
      // What an import kept is what training will decode.
      ASSERT_NO_THROW(viewer.render(kept, "x", view, out.data())) << round;
      ++decoded;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kData) << round;
      ASSERT_TRUE(std::string_view(error.what()).starts_with("x: ")) << error.what();
      ++refused;
    }
    try {  // the loader also meets files that no import has seen, with --no-verify
      viewer.render(file, "x", {.size = 16, .random = true, .rng = {.seed = i}}, out.data());
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kData) << round;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(decoded, 0);
}

TEST(PhotoFuzz, PackedFilesAreReadOrRefused) {
  const TemporaryFolder folder;
  import_files(photo_files(), folder.path());
  const auto path = folder / "photos.packed";
  const auto file = read_file(path, 1 << 26);
  const auto header = read_packed_header(file, path);
  const auto text_end = static_cast<size_t>(header.payload_at);
  int64_t refused = 0, read = 0;
  for (int64_t round = 0; round < rounds(4000); ++round) {
    auto bytes = mutated(file, file, static_cast<uint64_t>(round));
    if (round % 2 == 0 && bytes.size() > text_end) {
      // A right checksum over whatever the header became, or nothing behind it is ever reached.
      const auto hex = digest_hex("sha256", Bytes(bytes).subspan(64, text_end - 64));
      for (size_t i = 0; i < 32; ++i) {
        bytes[16 + i] = static_cast<uint8_t>(std::stoi(hex.substr(2 * i, 2), nullptr, 16));
      }
    }
    write_bytes(path, bytes);
    try {
      const auto dataset = open_packed(path, /*verify=*/false);
      const auto plan = [&](int64_t step) {
        PhotoBatchPlan p;
        for (int64_t i = 0; i < 4; ++i) p.images.push_back((4 * step + i) % dataset.train.count);
        p.view = {.size = 16, .random = true, .rng = {.seed = 1}};
        return p;
      };
      PhotoLoader loader(dataset.train, plan, 2, 1);
      for (int64_t step = 0; step < 2; ++step) loader.at(step);
      ++read;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kData) << round << ": " << error.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, 0);
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace approx::testing
