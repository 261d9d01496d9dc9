// JPEG and PNG files made for a test.
#pragma once

#include <png.h>
#include <turbojpeg.h>

#include "tests/core/data/testing.h"

namespace approx::testing {

// `colour`: TJPF_RGB, TJPF_GRAY or TJPF_CMYK, with as many bytes a pixel.
inline Buffer jpeg(const Buffer& pixels, int width, int height, int colour = TJPF_RGB,
                   int flags = 0) {
  const auto handle = tjInitCompress();
  unsigned char* out = nullptr;
  unsigned long size = 0;
  const int sampling = colour == TJPF_GRAY ? TJSAMP_GRAY : TJSAMP_444;
  EXPECT_EQ(tjCompress2(handle, pixels.data(), width, 0, height, colour, &out, &size, sampling,
                        /*quality=*/95, flags),
            0)
      << tjGetErrorStr2(handle);
  Buffer bytes(out, out + size);
  tjFree(out);
  tjDestroy(handle);
  return bytes;
}

// `format`: PNG_FORMAT_GRAY, PNG_FORMAT_RGB, PNG_FORMAT_RGBA, PNG_FORMAT_LINEAR_RGB.
inline Buffer png(const Buffer& pixels, int width, int height, uint32_t format = PNG_FORMAT_RGB) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<uint32_t>(width);
  image.height = static_cast<uint32_t>(height);
  image.format = format;
  Buffer bytes(1 << 20);
  png_alloc_size_t size = bytes.size();
  EXPECT_NE(png_image_write_to_memory(&image, bytes.data(), &size, 0, pixels.data(), 0, nullptr), 0)
      << image.message;
  bytes.resize(size);
  return bytes;
}

// A smooth picture, which JPEG changes little.
inline Buffer gradient(int width, int height, int channels) {
  Buffer pixels;
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        pixels.push_back(static_cast<uint8_t>(20 + 5 * x + 2 * y + 10 * c));
      }
    }
  }
  return pixels;
}

}  // namespace approx::testing
