#include "core/data/photo.h"

#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

using Kind = PhotoHeader::Kind;

PhotoHeader header_of(const Buffer& file) { return read_photo_header(file, "x.JPEG"); }

// Adobe's marker; transform 0 says that the four channels are inks, 2 that they are YCCK.
Buffer with_adobe_marker(Buffer file, uint8_t transform) {
  const Buffer marker = {0xff, 0xee, 0, 14, 'A', 'd', 'o', 'b', 'e', 0, 100, 0, 0, 0, 0, transform};
  file.insert(file.begin() + 2, marker.begin(), marker.end());
  return file;
}

// Without the segments of that marker.
Buffer without_marker(Buffer file, uint8_t marker) {
  constexpr uint8_t kScan = 0xda;
  for (size_t at = 2; at + 4 < file.size() && file[at + 1] != kScan;) {
    const size_t length = 2 + (size_t{file[at + 2]} << 8 | file[at + 3]);
    if (file[at + 1] == marker) {
      file.erase(file.begin() + static_cast<ptrdiff_t>(at),
                 file.begin() + static_cast<ptrdiff_t>(at + length));
    } else {
      at += length;
    }
  }
  return file;
}

// libjpeg writes a marker of its own for CMYK; without it the file says nothing of Adobe.
Buffer without_adobe_marker(const Buffer& file) { return without_marker(file, 0xee); }

// How a frame's marker says that the image comes as a whole, or a little finer with each scan.
constexpr uint8_t kBaseline = 0xc0, kProgressive = 0xc2;

// The header of a JPEG file of any size, and nothing after it. `sampling` of the first channel:
// across and down, where the others have one.
Buffer bare_header(int height, int width, int components = 3, uint8_t frame = kBaseline,
                   uint8_t sampling = 0x11) {
  const auto byte = [](int value) { return static_cast<uint8_t>(value); };
  Buffer file = {0xff,
                 0xd8,
                 0xff,
                 frame,
                 0,
                 byte(8 + 3 * components),
                 8,
                 byte(height >> 8),
                 byte(height),
                 byte(width >> 8),
                 byte(width),
                 byte(components)};
  for (int c = 0; c < components; ++c) {
    append(file, {byte(c + 1), c == 0 ? sampling : uint8_t{0x11}, 0});
  }
  append(file, {0xff, 0xda, 0, 2});
  return file;
}

TEST(Photo, TheContentSaysWhatItIsNotTheName) {
  const auto picture = waves(9, 13);
  EXPECT_EQ(header_of(jpeg_of(picture)).kind, Kind::kColourJpeg);
  EXPECT_EQ(header_of(jpeg(Buffer(9 * 13, 7), 13, 9, TJPF_GRAY)).kind, Kind::kGreyJpeg);
  EXPECT_EQ(header_of(jpeg(Buffer(9 * 13 * 4, 7), 13, 9, TJPF_CMYK)).kind, Kind::kCmykJpeg);
  const auto header = header_of(png(picture.pixels, 13, 9));
  EXPECT_EQ(header.kind, Kind::kPng);
  EXPECT_EQ(header.height, 9);
  EXPECT_EQ(header.width, 13);
  EXPECT_EQ(header_of(jpeg_of(picture)).height, 9);
  EXPECT_EQ(header_of(jpeg_of(picture)).width, 13);
}

TEST(Photo, DecodesColourGreyAndPng) {
  const auto picture = waves(33, 47);
  EXPECT_LE(largest_difference(decoded(jpeg_of(picture)).pixels, picture.pixels), 8);
  EXPECT_LE(
      largest_difference(decoded(jpeg_of(picture, TJFLAG_PROGRESSIVE)).pixels, picture.pixels), 8);
  EXPECT_EQ(decoded(png(picture.pixels, 47, 33)).pixels, picture.pixels);
  const auto grey = decoded(jpeg(Buffer(8 * 8, 77), 8, 8, TJPF_GRAY));
  EXPECT_EQ(grey.pixels, Buffer(8 * 8 * 3, 77));
  EXPECT_EQ(decoded(png(Buffer(4 * 4, 9), 4, 4, PNG_FORMAT_GRAY)).pixels, Buffer(48, 9));
}

// One colour in its four channels, in the three ways in which files say what they mean.
TEST(Photo, InksAreMultipliedOutAndAdobesAreInverted) {
  // The compressor takes CMYK and writes YCCK, luminance and chrominance of 255 - CMY: these inks
  // become the channels 200, 100, 150, 80.
  const int inks[4] = {255 - 231, 255 - 194, 255 - 150, 80}, channels[4] = {200, 100, 150, 80};
  Buffer pixels;
  for (int i = 0; i < 16 * 16; ++i) pixels.insert(pixels.end(), std::begin(inks), std::end(inks));
  const auto as_written = jpeg(pixels, 16, 16, TJPF_CMYK);
  const auto bare = without_adobe_marker(as_written);
  ASSERT_NE(bare.size(), as_written.size());
  const auto expect_colour = [](const Buffer& file, bool inverted, const int(&c)[4]) {
    EXPECT_EQ(header_of(file).inverted_inks, inverted);
    const auto pixel = decoded(file).pixels;
    for (size_t i = 0; i < 3; ++i) {
      const double ink = inverted ? c[i] : 255 - c[i], black = inverted ? c[3] : 255 - c[3];
      EXPECT_NEAR(pixel[i], ink * black / 255, 3) << i;
    }
  };
  expect_colour(as_written, true, inks);
  expect_colour(with_adobe_marker(bare, /*transform=*/0), true, channels);
  expect_colour(bare, false, channels);
}

TEST(Photo, ShrinksByTheLargestPowerOfTwoThatCovers) {
  PhotoHeader header{.height = 448, .width = 600};
  const auto shrink = [&](double height, double width, double size) {
    return photo_shrink(header, height, width, size, size);
  };
  EXPECT_EQ(shrink(448, 600, 56), 8);
  EXPECT_EQ(shrink(448, 600, 57), 4);
  EXPECT_EQ(shrink(448, 223, 56), 2);
  EXPECT_EQ(shrink(100, 600, 51), 1);
  EXPECT_EQ(shrink(10, 10, 64), 1);
  header.kind = Kind::kPng;
  EXPECT_EQ(shrink(448, 600, 56), 1);
}

// A shrunk image is the mean of what it covers, for content that a decoder need not leave out.
TEST(Photo, AShrunkImageLooksLikeTheWhole) {
  const auto file = jpeg_of(waves(61, 83));
  const auto whole = decoded(file);
  for (const int64_t shrink : {2, 4, 8}) {
    const auto small = decoded(file, shrink);
    ASSERT_EQ(small.height, (61 + shrink - 1) / shrink);
    ASSERT_EQ(small.width, (83 + shrink - 1) / shrink);
    for (int64_t y = 0; y < 61 / shrink; ++y) {
      for (int64_t x = 0; x < 83 / shrink; ++x) {
        double mean = 0;
        for (int64_t i = 0; i < shrink * shrink; ++i) {
          const auto row = y * shrink + i / shrink, column = x * shrink + i % shrink;
          mean += whole.pixels[static_cast<size_t>(3 * (row * 83 + column))];
        }
        EXPECT_NEAR(small.pixels[static_cast<size_t>(3 * (y * small.width + x))],
                    mean / static_cast<double>(shrink * shrink), 8)
            << shrink;
      }
    }
  }
}

// The orientation of a camera that was turned stays unused, as in torchvision's ImageFolder.
TEST(Photo, DoesNotApplyTheOrientation) {
  auto file = jpeg_of(waves(16, 24));
  const Buffer exif = {0xff, 0xe1, 0,    34, 'E', 'x', 'i', 'f', 0, 0, 'I', 'I', 42, 0, 8, 0, 0, 0,
                       1,    0,    0x12, 1,  3,   0,   1,   0,   0, 0, 6,   0,   0,  0, 0, 0, 0, 0};
  file.insert(file.begin() + 2, exif.begin(), exif.end());
  EXPECT_EQ(decoded(file).height, 16);
  EXPECT_EQ(decoded(file).pixels, decoded(jpeg_of(waves(16, 24))).pixels);
}

TEST(Photo, EveryCutIsFound) {
  const auto grey = jpeg(waves(40, 40).pixels, 40, 40, TJPF_RGB);
  for (const auto& file : {jpeg_of(waves(40, 56)), jpeg_of(waves(40, 56), TJFLAG_PROGRESSIVE), grey,
                           png(waves(40, 56).pixels, 56, 40)}) {
    for (const int64_t shrink : {1, 8}) {
      for (size_t size = 0; size < file.size(); ++size) {
        const Buffer cut(file.begin(), file.begin() + static_cast<ptrdiff_t>(size));
        const auto message = data_error_of([&] { decoded(cut, shrink); });
        ASSERT_TRUE(message.starts_with("x: ")) << size << ": " << message;
      }
    }
  }
}

// A flipped bit may give another valid picture; it must not give anything else.
TEST(Photo, AFlippedBitIsAPictureOrAnError) {
  for (const auto& file :
       {jpeg_of(waves(24, 40)), jpeg_of(waves(24, 40), TJFLAG_PROGRESSIVE),
        jpeg(Buffer(24 * 40 * 4, 99), 40, 24, TJPF_CMYK), png(waves(24, 40).pixels, 40, 24)}) {
    int errors = 0;
    for (size_t bit = 0; bit < file.size() * 8; bit += 3) {
      auto altered = file;
      altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
      try {
        decoded(altered);
      } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::kData);
        ++errors;
      }
    }
    EXPECT_GT(errors, 0);
  }
}

TEST(Photo, RefusesWhatIsNoPhotograph) {
  const auto error = [](const Buffer& file) { return data_error_of([&] { decoded(file); }); };
  EXPECT_CONTAINS(error({}), "x: at byte 0: expected a JPEG or PNG file, found no bytes");
  EXPECT_CONTAINS(error(bytes_of("GIF89a...")), "found something else");
  EXPECT_CONTAINS(error(Buffer(1000)), "found something else");
  EXPECT_CONTAINS(error(png(Buffer(64, 9), 4, 4, PNG_FORMAT_RGBA)), "transparency");
  EXPECT_CONTAINS(error(png(Buffer(96, 9), 4, 4, PNG_FORMAT_LINEAR_RGB)), "8 bits a channel");
  EXPECT_CONTAINS(error({0xff, 0xd8, 0xff}), "expected the size of a JPEG image, found none");
  EXPECT_CONTAINS(error({0xff, 0xd8, 0xff, 0xd9}), "found none");
  EXPECT_CONTAINS(error(Buffer(100, 0xff)), "something else");
  EXPECT_CONTAINS(error({0xff, 0xd8, 0xff, 0xe0, 0, 2, 1, 2, 3, 4, 5}), "at byte 6");
  EXPECT_CONTAINS(error({0xff, 0xd8, 0xff, 0xe0, 0, 0, 1, 2, 3, 4, 5}), "found none");
}

// The decoder reads on behind a marker without a length; what follows must not pass for its length,
// and so be hidden from the look at the size.
TEST(Photo, RefusesMarkersThatCouldHideASize) {
  for (const uint8_t marker : {0x01, 0xd0, 0xd7}) {
    auto file = jpeg_of(waves(16, 24));
    const Buffer alone = {0xff, marker};
    file.insert(file.begin() + 2, alone.begin(), alone.end());
    EXPECT_CONTAINS(data_error_of([&] { header_of(file); }), "at byte 2: expected a segment");
  }
}

// Refused by their headers, before anything of that size is allocated.
TEST(Photo, RefusesHeadersThatPromiseTooMuch) {
  const auto error = [](const Buffer& file) { return data_error_of([&] { decoded(file); }); };
  EXPECT_CONTAINS(error(bare_header(65535, 65535)), "1 to 64000000 pixels, found 65535x65535");
  EXPECT_CONTAINS(error(bare_header(8001, 8000)), "found 8000x8001");
  EXPECT_CONTAINS(error(bare_header(0, 100)), "found 100x0");
  EXPECT_CONTAINS(error(bare_header(100, 0)), "found 0x100");
  EXPECT_CONTAINS(error(bare_header(8, 8, 2)), "expected 1, 3 or 4 channels, found 2");
  EXPECT_CONTAINS(error(bare_header(8, 8, 5)), "found 5");
  EXPECT_CONTAINS(error(bare_header(8, 8)), "expected a whole JPEG file");
  auto bomb = png(Buffer(48, 9), 4, 4);
  for (const size_t at : {16u, 20u}) {  // width and height of the first chunk
    bomb[at + 2] = 0xff;
    bomb[at + 3] = 0xff;
  }
  const uint32_t checksum =
      static_cast<uint32_t>(crc32(0, bomb.data() + 12, 17));  // over the chunk's type and content
  for (size_t i = 0; i < 4; ++i) bomb[29 + i] = static_cast<uint8_t>(checksum >> (24 - 8 * i));
  EXPECT_CONTAINS(error(bomb), "found 65535x65535");
}

TEST(Photo, TheHeaderSaysWhatDecodingTakes) {
  const auto bytes = [](const Buffer& file) { return header_of(file).decoding_bytes(); };
  constexpr int kSide = 4000;
  constexpr int64_t kPixels = int64_t{kSide} * kSide;
  const auto progressive = [](int components, uint8_t sampling = 0x11) {
    return bare_header(kSide, kSide, components, kProgressive, sampling);
  };
  EXPECT_EQ(bytes(bare_header(kSide, kSide, 1)), 3 * kPixels);
  EXPECT_EQ(bytes(bare_header(kSide, kSide, 3)), 3 * kPixels);
  EXPECT_EQ(bytes(bare_header(kSide, kSide, 4)), 4 * kPixels);
  EXPECT_EQ(bytes(progressive(1)), (3 + 2) * kPixels);
  EXPECT_EQ(bytes(progressive(3)), (3 + 6) * kPixels);
  EXPECT_EQ(bytes(progressive(3, 0x22)), (3 + 3) * kPixels);
  EXPECT_EQ(bytes(progressive(3, 0x21)), (3 + 4) * kPixels);
  EXPECT_EQ(bytes(progressive(4)), (4 + 8) * kPixels);
  // Units are whole: here two of 16x16, of six blocks each.
  EXPECT_EQ(bytes(bare_header(1, 17, 3, kProgressive, 0x22)), 3 * 17 + 2 * 6 * 128);
  auto one_by_one = bare_header(kSide, kSide);
  one_by_one.resize(one_by_one.size() - 4);
  append(one_by_one, {0xff, 0xda, 0, 8, 1, 1, 0, 0, 63, 0});  // a scan of the first channel
  EXPECT_EQ(bytes(one_by_one), (3 + 6) * kPixels);
}

TEST(Photo, RefusesHeadersOfFilesThatWouldTakeTooMuchMemory) {
  const auto error = [](const Buffer& file) { return data_error_of([&] { header_of(file); }); };
  EXPECT_EQ(error(bare_header(8000, 8000, 3, kProgressive)),
            "x.JPEG: expected at most 192 MB when decoded, found 8000x8000 "
            "pixels in several scans (as progressive files are), which take 576 MB; save it "
            "smaller, or as a baseline JPEG in RGB");
  EXPECT_CONTAINS(error(bare_header(7000, 7000, 4)), "7000x7000 pixels in CMYK, which take 196 MB");
  EXPECT_CONTAINS(error(bare_header(8000, 2001, 4, kProgressive)), "in CMYK in several scans");
  for (const auto& largest :
       {bare_header(8000, 8000), bare_header(8000, 6000, 4),
        bare_header(8000, 2664, 3, kProgressive), bare_header(8000, 2000, 4, kProgressive)}) {
    EXPECT_NO_THROW(header_of(largest));
  }
}

// Three bytes a pixel, and little beside them.
TEST(Photo, TheLargestTakesNoMoreMemoryThanItsPixels) {
  if (!kMemoryIsCounted) GTEST_SKIP() << "under a sanitizer memory says nothing";
  constexpr int kSide = 8000;
  static_assert(int64_t{kSide} * kSide == kMaxPhotoPixels);
  const auto file =
      png(Buffer(static_cast<size_t>(kMaxPhotoPixels), 9), kSide, kSide, PNG_FORMAT_GRAY);
  const auto decodes = [&] { decoded(file); };
  constexpr int64_t kPixels = 3 * kMaxPhotoPixels, kMore = 16 << 20;
  EXPECT_TRUE(fits_in(kPixels + kMore, decodes));
  EXPECT_FALSE(fits_in(kPixels / 2, decodes)) << "the limit is none";
}

constexpr int kLargeHeight = 5000,
              kLargeWidth = 4000;  // pieces of memory so large that each is mapped anew

Buffer large_jpeg(int channels, int colour, int flags = 0) {
  return jpeg(Buffer(size_t{kLargeHeight} * kLargeWidth * static_cast<size_t>(channels), 9),
              kLargeWidth, kLargeHeight, colour, flags);
}

TEST(Photo, DecodingTakesTheMemoryThatTheHeaderSays) {
  if (!kMemoryIsCounted) GTEST_SKIP() << "under a sanitizer memory says nothing";
  for (const auto& file : {large_jpeg(3, TJPF_RGB, TJFLAG_PROGRESSIVE), large_jpeg(4, TJPF_CMYK)}) {
    const auto decodes = [&] {
      try {
        decoded(file);
      } catch (const Error&) {  // libjpeg's own, where it has no memory
        throw std::bad_alloc();
      }
    };
    const int64_t bytes = header_of(file).decoding_bytes();
    constexpr int64_t kMore = 16 << 20;
    EXPECT_TRUE(fits_in(bytes + kMore, decodes));
    EXPECT_FALSE(fits_in(bytes - kMore, decodes));
  }
}

// What a larger image has left does not come on top of what the next takes, nor what a smaller one
// has left while the memory grows.
TEST(Photo, SeveralTakeNoMoreMemoryThanTheLargest) {
  if (!kMemoryIsCounted) GTEST_SKIP() << "under a sanitizer memory says nothing";
  constexpr int kSide = 8000;
  const auto progressive = large_jpeg(3, TJPF_RGB, TJFLAG_PROGRESSIVE);
  const auto largest =
      png(Buffer(static_cast<size_t>(kMaxPhotoPixels), 9), kSide, kSide, PNG_FORMAT_GRAY);
  const auto decode_all = [&] {
    Raster raster;
    for (const auto* file : {&progressive, &largest, &progressive}) {
      decode_photo(*file, header_of(*file), "x", 1, raster);
    }
  };
  EXPECT_TRUE(fits_in(kMaxPhotoBytes + (16 << 20), decode_all));
}

TEST(Photo, DecodersKeepNothingOfTheFileBefore) {
  Raster raster;
  const auto decode = [&](const Buffer& file) {
    decode_photo(file, read_photo_header(file, "x"), "x", 1, raster);
    return raster.pixels;
  };
  const auto file = jpeg_of(waves(20, 30));
  const auto expected = decode(file);
  EXPECT_THROW(decode({file.begin(), file.begin() + 200}), Error);
  decode(jpeg(Buffer(50 * 50 * 4, 9), 50, 50, TJPF_CMYK));
  EXPECT_EQ(decode(file), expected);
  // libjpeg would take the tables of the file before.
  constexpr uint8_t kQuantisation = 0xdb;
  EXPECT_THROW(decode(without_marker(file, kQuantisation)), Error);
}

TEST(PhotoEncoder, WritesWhatItIsGiven) {
  PhotoEncoder encoder;
  for (const auto& picture : {waves(30, 41), waves(1, 1), waves(7, 300)}) {
    const auto bytes = encoder.encode(picture, "x");
    EXPECT_LE(largest_difference(decoded({bytes.begin(), bytes.end()}).pixels, picture.pixels), 12);
  }
}

}  // namespace
}  // namespace approx::testing
