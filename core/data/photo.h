// Decodes one photograph, a JPEG or PNG file of any size and any name, to RGB pixels.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/data/bytes.h"

namespace approx {

// [height,width,3] uint8, the rows one after the other.
struct Raster {
  int64_t height = 0, width = 0;
  std::vector<uint8_t> pixels;

  // Loses the content. Keeps at most a little more memory than the new size needs.
  void resize(int64_t new_height, int64_t new_width);
};

// Limits that are checked before memory is allocated: the pixels of a file, and the bytes that a
// thread needs to decode one. The largest file of ImageNet has about 61 million pixels. The limit
// of bytes is that of so many RGB pixels.
constexpr int64_t kMaxPhotoPixels = 64'000'000;
constexpr int64_t kMaxPhotoBytes = 3 * kMaxPhotoPixels;

struct PhotoHeader {
  enum class Kind { kPng, kGreyJpeg, kColourJpeg, kCmykJpeg };
  Kind kind = Kind::kColourJpeg;
  int64_t height = 0, width = 0;
  // CMYK: the file has Adobe's marker. Such files have inverted inks.
  bool inverted_inks = false;
  // The bytes that libjpeg keeps of a JPEG in several scans, such as a progressive one. It keeps
  // the coefficients of the whole image until it has read the last scan, at any decoded size.
  int64_t coefficient_bytes = 0;

  // The bytes that decoding needs beside the file: three a pixel, four for CMYK, and the
  // coefficients.
  int64_t decoding_bytes() const;
  int64_t shorter_side() const { return std::min(height, width); }
};

// Reads the header. The content decides the kind, whatever the file's name. Throws Error(kData)
// that begins with `place` for:
// - a file that is neither JPEG nor PNG, or has no size;
// - more than kMaxPhotoPixels pixels, or kMaxPhotoBytes bytes to decode;
// - another number of channels than 1, 3 or 4.
PhotoHeader read_photo_header(Bytes file, const std::string& place);

// The divisor at which a JPEG is decoded: the largest of 8, 4, 2, 1 by which height and width can
// be divided and still cover `least_height` and `least_width`. 1 for a PNG. libjpeg-turbo can
// decode at every eighth of the full size, without the high frequencies. Only powers of two have
// vector code; the others take longer than the whole size. Measured: 0.20 ms for 4/8, 0.22 for 8/8,
// 0.34 to 0.50 for 5/8 to 7/8.
int64_t photo_shrink(const PhotoHeader& header, double height, double width, double least_height,
                     double least_width);

// The image in RGB, each side divided by `shrink` and rounded up. Grey fills the three channels.
// CMYK is multiplied out, inks times black. The EXIF orientation is not applied, as in
// torchvision's ImageFolder. Throws Error(kData) that begins with `place` for a truncated or
// damaged file and any warning of the decoder. It also throws for transparency and 16 bits a
// channel.
void decode_photo(Bytes file, const PhotoHeader& header, const std::string& place, int64_t shrink,
                  Raster& raster);

// Writes photographs as JPEG. Use one per thread.
class PhotoEncoder {
 public:
  // The quality of files that an import writes anew. Its losses are hardly visible, and such copies
  // of ImageNet commonly use it.
  static constexpr int kQuality = 90;

  PhotoEncoder();
  ~PhotoEncoder();
  PhotoEncoder(const PhotoEncoder&) = delete;
  PhotoEncoder& operator=(const PhotoEncoder&) = delete;

  // The JPEG file, valid until the next call. Chrominance has half the resolution, as in cameras.
  // Throws Error(kData) that begins with `place` if the image is longer than a JPEG can be.
  Bytes encode(const Raster& raster, const std::string& place);

 private:
  void* jpeg_ = nullptr;
  unsigned char* buffer_ = nullptr;
  unsigned long capacity_ = 0;
};

}  // namespace approx
