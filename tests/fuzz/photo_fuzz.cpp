// Photographs, JPEG and PNG: what an import makes of one, what training cuts out of that, and the
// decoder of data sets of small images.
#include <zlib.h>

#include "core/data/image.h"
#include "core/data/photo_import.h"
#include "core/data/photo_view.h"
#include "tests/core/data/photo_testing.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr int64_t kLargestView = 48;
// Larger ones cost seconds each; that those above kMaxPhotoPixels are refused is a test of its own
// (tests/core/data/photo_test.cpp).
constexpr int64_t kLargestPhoto = 1'000'000;

enum Flags : uint8_t { kRepaired = 1, kRandom = 2, kFlip = 4, kUnlimited = 8, kLonger = 16 };

// Gives every piece of a PNG file the checksum that it should have: without, hardly a change of one
// gets past the decoder's door.
Buffer with_checksums(Bytes file) {
  Buffer bytes(file.begin(), file.end());
  for (size_t at = 8; at + 12 <= bytes.size();) {
    size_t length = 0;
    for (size_t i = 0; i < 4; ++i) length = length << 8 | bytes[at + i];
    if (length > bytes.size() - at - 12) break;
    auto sum = crc32(0, bytes.data() + at + 4, static_cast<uInt>(length + 4));
    for (size_t i = 4; i-- > 0; sum >>= 8) bytes[at + 8 + length + i] = static_cast<uint8_t>(sum);
    at += 12 + length;
  }
  return bytes;
}

bool is_large(Bytes file) {
  bool large = false;
  accepted(ErrorKind::kData, [&] {
    const auto header = read_photo_header(file, "x");
    large = header.height * header.width > kLargestPhoto;
  });
  return large;
}

}  // namespace

void run(Bytes bytes) {
  static PhotoConverter limited({.side = 32}), longer({.side = 32, .of_longer = true}),
      unlimited({});
  static PhotoViewer viewer;
  static ImageDecoder decoder({.height = 8, .width = 8, .channels = 3});
  static Buffer out(kLargestView * kLargestView * 3);
  Input input(bytes);
  const uint8_t flags = input.byte();
  const PhotoView view{.size = 1 + input.byte() % kLargestView,
                       .random = (flags & kRandom) != 0,
                       .may_flip = (flags & kFlip) != 0,
                       .rng = {.seed = 1},
                       .index = input.byte()};
  const Buffer file = flags & kRepaired ? with_checksums(input.rest())
                                        : Buffer(input.rest().begin(), input.rest().end());
  if (is_large(file)) return;
  accepted(ErrorKind::kData, [&] {
    auto& converter = flags & kUnlimited ? unlimited : flags & kLonger ? longer : limited;
    const Bytes kept = converter.convert(file, "x");
    // What an import kept is what training will decode.
    try {
      viewer.render(kept, "x", view, out.data());
    } catch (const Error& error) {
      fail(fmt::format("an imported photograph cannot be decoded: {}", error.what()));
    }
  });
  // The loader also meets files that no import has seen, with --no-verify. What it makes of one is
  // the same whatever it decoded before.
  const auto decoded_by = [&](PhotoViewer& by, Buffer& pixels) {
    pixels.assign(pixels.size(), 0);
    return accepted(ErrorKind::kData, [&] { by.render(file, "x", view, pixels.data()); });
  };
  PhotoViewer fresh;
  Buffer again(out.size());
  const bool decoded = decoded_by(viewer, out);
  expect(decoded == decoded_by(fresh, again), "a file is decoded or refused by itself");
  expect(!decoded || out == again, "a file looks the same whatever was decoded before");
  accepted(ErrorKind::kData, [&] { decoder.decode(file, "x.png", out.data()); });
  accepted(ErrorKind::kData, [&] { decoder.decode(file, "x.jpg", out.data()); });
}

std::vector<Buffer> seeds() {
  using testing::jpeg, testing::jpeg_of, testing::png, testing::waves;
  const auto picture = waves(40, 56), small = waves(8, 8);
  const std::vector<Buffer> files = {jpeg_of(picture),
                                     jpeg_of(picture, TJFLAG_PROGRESSIVE),
                                     jpeg_of(small),
                                     jpeg(Buffer(40 * 56, 99), 56, 40, TJPF_GRAY),
                                     jpeg(Buffer(40 * 56 * 4, 99), 56, 40, TJPF_CMYK),
                                     png(picture.pixels, 56, 40),
                                     png(small.pixels, 8, 8),
                                     png(Buffer(40 * 56, 9), 56, 40, PNG_FORMAT_GRAY),
                                     png(Buffer(40 * 56 * 4, 9), 56, 40, PNG_FORMAT_RGBA)};
  std::vector<Buffer> all;
  uint8_t flags = 0;
  for (const auto& file : files) {
    Buffer bytes = {static_cast<uint8_t>(flags | kRepaired), 15, flags};
    testing::append(bytes, file);
    all.push_back(bytes);
    flags = static_cast<uint8_t>((flags + 2) % 16);
  }
  return all;
}

}  // namespace approx::fuzz
