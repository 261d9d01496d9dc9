#include "core/data/image.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "core/data/jpeg_handle.h"

namespace approx {
namespace {

constexpr std::array<uint8_t, 8> kPngMagic = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
// The chunk IEND with its length and checksum; the decoder itself stops before it.
constexpr std::array<uint8_t, 12> kPngEnd = {0,   0,   0,    0,    'I',  'E',
                                             'N', 'D', 0xae, 0x42, 0x60, 0x82};

bool ends_with(std::string_view text, std::string_view lower_case_end) {
  if (text.size() < lower_case_end.size()) return false;
  const auto tail = text.substr(text.size() - lower_case_end.size());
  return std::equal(tail.begin(), tail.end(), lower_case_end.begin(), [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
}

bool is_jpeg_name(std::string_view name) {
  return ends_with(name, ".jpg") || ends_with(name, ".jpeg");
}

// A decoder that meets the end too early may fill the rest with grey; the end mark tells. Zero
// bytes after it are padding.
bool has_jpeg_end(Bytes file) {
  while (!file.empty() && file.back() == 0) file = file.first(file.size() - 1);
  return file.size() >= 2 && file[file.size() - 2] == 0xff && file.back() == 0xd9;
}

}  // namespace

bool is_png_name(std::string_view name) { return ends_with(name, ".png"); }

bool is_image_name(std::string_view name) { return is_jpeg_name(name) || is_png_name(name); }

ImageKind image_kind(Bytes file) {
  if (file.size() >= 3 && file[0] == 0xff && file[1] == 0xd8 && file[2] == 0xff) {
    return ImageKind::kJpeg;
  }
  const bool png = file.size() >= kPngMagic.size() &&
                   std::equal(kPngMagic.begin(), kPngMagic.end(), file.begin());
  return png ? ImageKind::kPng : ImageKind::kOther;
}

void ImageDecoder::decode(Bytes file, const std::string& place, uint8_t* pixels) {
  const auto kind = image_kind(file);
  const bool jpeg = kind == ImageKind::kJpeg, png = kind == ImageKind::kPng;
  if (is_png_name(place) ? !png : !jpeg) {
    throw data_error("{}: at byte 0: expected a {} file, found {}", place,
                     is_png_name(place) ? "PNG" : "JPEG",
                     file.empty() ? "no bytes"
                     : jpeg       ? "a JPEG file"
                     : png        ? "a PNG file"
                                  : "something else");
  }
  if (jpeg) {
    decode_jpeg(file, place, pixels);
  } else {
    decode_png(file, place, size_, pixels);
  }
}

void ImageDecoder::decode_jpeg(Bytes file, const std::string& place, uint8_t* pixels) {
  const JpegHandle jpeg;
  const auto damaged = [&] {
    return data_error("{}: expected a whole JPEG file of {} bytes, found: {}", place, file.size(),
                      jpeg.problem());
  };
  int width = 0, height = 0, subsampling = 0, colour = 0;
  if (tjDecompressHeader3(jpeg.get(), file.data(), file.size(), &width, &height, &subsampling,
                          &colour) != 0) {
    throw damaged();
  }
  if (width != size_.width || height != size_.height) {
    throw data_error("{}: expected {}x{} pixels, found {}x{}", place, size_.width, size_.height,
                     width, height);
  }
  if (colour == TJCS_CMYK || colour == TJCS_YCCK) {
    throw data_error("{}: expected RGB or grey, found CMYK; convert the image to RGB", place);
  }
  if (size_.channels == 1 && colour != TJCS_GRAY) {
    throw data_error("{}: expected a grey image, found a coloured one", place);
  }
  if (!has_jpeg_end(file)) {
    throw data_error(
        "{}: at byte {}: expected the end mark of a JPEG file, found the end of the "
        "file; it is truncated",
        place, file.size());
  }
  if (tjDecompress2(jpeg.get(), file.data(), file.size(), pixels, width, /*pitch=*/0, height,
                    size_.channels == 1 ? TJPF_GRAY : TJPF_RGB,
                    TJFLAG_STOPONWARNING | TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0) {
    throw damaged();
  }
}

std::pair<int64_t, int64_t> png_size(Bytes file, const std::string& place) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const bool read = png_image_begin_read_from_memory(&image, file.data(), file.size()) != 0;
  png_image_free(&image);
  if (!read) {
    throw data_error("{}: expected a whole PNG file of {} bytes, found: {}", place, file.size(),
                     image.message);
  }
  return {image.height, image.width};
}

void decode_png(Bytes file, const std::string& place, const ImageSize& size, uint8_t* pixels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  const auto damaged = [&] {
    auto error = data_error("{}: expected a whole PNG file of {} bytes, found: {}", place,
                            file.size(), image.message);
    png_image_free(&image);
    return error;
  };
  const auto refuse = [&](const std::string& message) {
    png_image_free(&image);
    return data_error("{}: {}", place, message);
  };
  if (!png_image_begin_read_from_memory(&image, file.data(), file.size())) throw damaged();
  if (image.width != size.width || image.height != size.height) {
    throw refuse(fmt::format("expected {}x{} pixels, found {}x{}", size.width, size.height,
                             image.width, image.height));
  }
  if (image.format & PNG_FORMAT_FLAG_ALPHA) throw refuse("expected no transparency, found some");
  if (image.format & PNG_FORMAT_FLAG_LINEAR) {
    throw refuse("expected 8 bits a channel, found 16; convert the image");
  }
  if (size.channels == 1 && (image.format & PNG_FORMAT_FLAG_COLOR)) {
    throw refuse("expected a grey image, found a coloured one");
  }
  if (file.size() < kPngEnd.size() ||
      !std::equal(kPngEnd.begin(), kPngEnd.end(), file.end() - kPngEnd.size())) {
    throw refuse(
        fmt::format("at byte {}: expected the end mark of a PNG file, found the end of "
                    "the file; it is truncated",
                    file.size()));
  }
  image.format = size.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  if (!png_image_finish_read(&image, nullptr, pixels, 0, nullptr) || image.warning_or_error != 0) {
    throw damaged();
  }
}

}  // namespace approx
