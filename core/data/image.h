// Decodes one JPEG or PNG file to pixels.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "core/data/bytes.h"

namespace approx {

struct ImageSize {
  int64_t height = 0, width = 0, channels = 0;  // channels: 1 grey, 3 RGB

  bool operator==(const ImageSize&) const = default;
};

// The kind of a file by its first bytes.
enum class ImageKind { kJpeg, kPng, kOther };
ImageKind image_kind(Bytes file);

// Height and width in the header of a PNG file. Throws Error(kData) that begins with `place`.
std::pair<int64_t, int64_t> png_size(Bytes file, const std::string& place);

// Decodes a PNG file to [H,W,C] uint8 in `pixels`, which has room for `size`. Throws Error(kData)
// that begins with `place` for another size, a truncated or damaged file, transparency and 16 bits
// a channel. It also throws for a coloured image if `size` has one channel.
void decode_png(Bytes file, const std::string& place, const ImageSize& size, uint8_t* pixels);

// Decodes images of one fixed size.
class ImageDecoder {
 public:
  explicit ImageDecoder(const ImageSize& size) : size_(size) {}

  // Decodes a file to [H,W,C] uint8 in `pixels`, which has room for the fixed size. A grey image
  // fills all three channels of RGB. Throws Error(kData) that begins with `place` for another size,
  // a truncated or damaged file, CMYK, transparency and 16 bits a channel. It also throws for
  // content that does not fit the file's extension.
  void decode(Bytes file, const std::string& place, uint8_t* pixels);

 private:
  void decode_jpeg(Bytes file, const std::string& place, uint8_t* pixels);

  ImageSize size_;
};

// Whether the name ends in .jpg, .jpeg or .png, in any case.
bool is_image_name(std::string_view name);
bool is_png_name(std::string_view name);

}  // namespace approx
