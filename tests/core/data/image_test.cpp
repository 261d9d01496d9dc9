#include "core/data/image.h"

#include "tests/core/data/image_testing.h"

namespace approx::testing {
namespace {

constexpr ImageSize kRgb = {.height = 8, .width = 16, .channels = 3};
constexpr ImageSize kGrey = {.height = 8, .width = 16, .channels = 1};

Buffer decode(const Buffer& file, const ImageSize& size = kRgb,
              const std::string& place = "x.jpg") {
  Buffer pixels(static_cast<size_t>(size.height * size.width * size.channels));
  ImageDecoder(size).decode(file, place, pixels.data());
  return pixels;
}

TEST(Png, IsExact) {
  const auto rgb = gradient(16, 8, 3), grey = gradient(16, 8, 1);
  EXPECT_EQ(decode(png(rgb, 16, 8), kRgb, "x.png"), rgb);
  EXPECT_EQ(decode(png(grey, 16, 8, PNG_FORMAT_GRAY), kGrey, "x.PNG"), grey);
  const auto spread = decode(png(grey, 16, 8, PNG_FORMAT_GRAY), kRgb, "x.png");
  for (size_t i = 0; i < spread.size(); ++i) ASSERT_EQ(spread[i], grey[i / 3]) << i;
}

TEST(Jpeg, IsClose) {
  const auto rgb = gradient(16, 8, 3);
  const auto decoded = decode(jpeg(rgb, 16, 8));
  for (size_t i = 0; i < rgb.size(); ++i) ASSERT_NEAR(decoded[i], rgb[i], 8) << i;
  EXPECT_EQ(decode(jpeg(rgb, 16, 8), kRgb, "x.JPEG"), decoded);
  EXPECT_NO_THROW(decode(jpeg(rgb, 16, 8, TJPF_RGB, TJFLAG_PROGRESSIVE)));
}

TEST(Jpeg, GreyFillsAllChannels) {
  const auto grey = gradient(16, 8, 1);
  const auto decoded = decode(jpeg(grey, 16, 8, TJPF_GRAY));
  for (size_t i = 0; i < decoded.size(); ++i) ASSERT_NEAR(decoded[i], grey[i / 3], 4) << i;
  EXPECT_NO_THROW(decode(jpeg(grey, 16, 8, TJPF_GRAY), kGrey));
}

TEST(Jpeg, EveryCutIsAnError) {
  const auto file = jpeg(gradient(16, 8, 3), 16, 8);
  expect_damage_is_found(
      file, "dir/x.jpg", [](const Buffer& bytes) { decode(bytes, kRgb, "dir/x.jpg"); }, 2000,
      /*flips=*/false);
  auto padded = file;
  padded.resize(padded.size() + 40);
  EXPECT_NO_THROW(decode(padded));
  padded.push_back('x');
  EXPECT_CONTAINS(data_error_of([&] { decode(padded); }), "truncated");
}

TEST(Jpeg, FlippedBitsNeverCrash) {
  const auto file = jpeg(gradient(16, 8, 3), 16, 8);
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    auto altered = file;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    try {
      decode(altered);
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kData);
      EXPECT_CONTAINS(std::string(error.what()), "x.jpg");
    }
  }
}

TEST(Png, EveryCutIsAnErrorAndNoFlipIsAcceptedWithOtherPixels) {
  const auto rgb = gradient(16, 8, 3);
  const auto file = png(rgb, 16, 8);
  const auto read = [](const Buffer& bytes) { decode(bytes, kRgb, "x.png"); };
  expect_damage_is_found(file, "x.png", read, 2000, /*flips=*/false);
  for (size_t bit = 0; bit < file.size() * 8; ++bit) {
    auto altered = file;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    try {
      EXPECT_EQ(decode(altered, kRgb, "x.png"), rgb) << bit;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::kData);
    }
  }
}

TEST(Image, RefusesOtherSizes) {
  const auto message = data_error_of([] { decode(jpeg(gradient(17, 8, 3), 17, 8)); });
  EXPECT_EQ(message, "x.jpg: expected 16x8 pixels, found 17x8");
  EXPECT_CONTAINS(data_error_of([] { decode(png(gradient(16, 9, 3), 16, 9), kRgb, "x.png"); }),
                  "found 16x9");
  auto huge = jpeg(gradient(16, 8, 3), 16, 8);
  for (size_t i = 0; i + 8 < huge.size(); ++i) {  // the frame header: FF C0, length, depth, sizes
    if (huge[i] == 0xff && huge[i + 1] == 0xc0) {
      std::fill(huge.begin() + i + 5, huge.begin() + i + 9, 0x7f);
      break;
    }
  }
  EXPECT_CONTAINS(data_error_of([&] { decode(huge); }), "found 32639x32639");
}

TEST(Image, RefusesOtherKindsOfPixels) {
  const auto rgb = gradient(16, 8, 3), four = gradient(16, 8, 4);
  EXPECT_CONTAINS(data_error_of([&] { decode(jpeg(four, 16, 8, TJPF_CMYK)); }), "CMYK");
  EXPECT_CONTAINS(data_error_of([&] { decode(jpeg(rgb, 16, 8), kGrey); }), "coloured");
  EXPECT_CONTAINS(data_error_of([&] { decode(png(rgb, 16, 8), kGrey, "x.png"); }), "coloured");
  const auto clear = png(four, 16, 8, PNG_FORMAT_RGBA);
  EXPECT_CONTAINS(data_error_of([&] { decode(clear, kRgb, "x.png"); }), "transparency");
  const auto deep = png(gradient(16, 8, 6), 16, 8, PNG_FORMAT_LINEAR_RGB);
  EXPECT_CONTAINS(data_error_of([&] { decode(deep, kRgb, "x.png"); }), "8 bits a channel");
}

TEST(Image, ContentMustBeWhatTheNameSays) {
  const auto rgb = gradient(16, 8, 3);
  EXPECT_EQ(data_error_of([&] { decode(png(rgb, 16, 8)); }),
            "x.jpg: at byte 0: expected a JPEG file, found a PNG file");
  EXPECT_CONTAINS(data_error_of([&] { decode(jpeg(rgb, 16, 8), kRgb, "x.png"); }), "a JPEG file");
  EXPECT_CONTAINS(data_error_of([&] { decode({}); }), "no bytes");
  EXPECT_CONTAINS(data_error_of([&] { decode(bytes_of("GIF89a")); }), "something else");
}

}  // namespace
}  // namespace approx::testing
