// One photograph, a JPEG or PNG file of any size and any name, to RGB pixels.
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

  // What was there is lost, and not much more memory kept than the new size takes.
  void resize(int64_t new_height, int64_t new_width);
};

// Looked at before anything is allocated: the most pixels of a file, of which the largest of
// ImageNet have about 61 million, and the most bytes that a thread takes to decode one, which are
// those of so many pixels.
constexpr int64_t kMaxPhotoPixels = 64'000'000;
constexpr int64_t kMaxPhotoBytes = 3 * kMaxPhotoPixels;

struct PhotoHeader {
  enum class Kind { kPng, kGreyJpeg, kColourJpeg, kCmykJpeg };
  Kind kind = Kind::kColourJpeg;
  int64_t height = 0, width = 0;
  // CMYK: the file has Adobe's marker, and with it, by Adobe's habit, inverted inks.
  bool inverted_inks = false;
  // Of a JPEG in several scans, as a progressive one is: what libjpeg keeps of the whole image,
  // whatever size it is decoded at, until it has read the last of them.
  int64_t coefficient_bytes = 0;

  // What decoding takes beside the file: three bytes a pixel, four of CMYK, and the coefficients.
  int64_t decoding_bytes() const;
  int64_t shorter_side() const { return std::min(height, width); }
};

// What the first bytes say: the kind is that of the content, whatever the file is called. Error
// (kData) that begins with `place` for a file that is neither, has no size, more than
// kMaxPhotoPixels, takes more than kMaxPhotoBytes or has another number of channels than 1, 3 or 4.
PhotoHeader read_photo_header(Bytes file, const std::string& place);

// A JPEG can be decoded at a fraction of its size by leaving out high frequencies. libjpeg-turbo
// knows every eighth; those that are powers of two have vector code and the others take longer than
// the whole size (measured: 0.20 ms for 4/8, 0.22 for 8/8, 0.34 to 0.50 for 5/8 to 7/8). The
// largest of 8, 4, 2, 1 by which height and width can be divided and still cover `least_height` and
// `least_width`; 1 for a PNG.
int64_t photo_shrink(const PhotoHeader& header, double height, double width, double least_height,
                     double least_width);

// The image in RGB, each side divided by `shrink` and rounded up. Grey fills the three channels;
// CMYK is multiplied out, inks times black. The EXIF orientation is not applied, as torchvision's
// ImageFolder does not. Error(kData) that begins with `place` for a truncated or damaged file, for
// anything the decoder so much as warns of, for transparency and for 16 bits a channel.
void decode_photo(Bytes file, const PhotoHeader& header, const std::string& place, int64_t shrink,
                  Raster& raster);

// Writes photographs as JPEG. One per thread.
class PhotoEncoder {
 public:
  // Of the files that an import has to write anew: hardly to be seen at this quality, and what is
  // commonly taken for such copies of ImageNet.
  static constexpr int kQuality = 90;

  PhotoEncoder();
  ~PhotoEncoder();
  PhotoEncoder(const PhotoEncoder&) = delete;
  PhotoEncoder& operator=(const PhotoEncoder&) = delete;

  // Valid until the next call. Chrominance at half the resolution, as cameras write it.
  // Error(kData) that begins with `place` where the image is longer than a JPEG can be.
  Bytes encode(const Raster& raster, const std::string& place);

 private:
  void* jpeg_ = nullptr;
  unsigned char* buffer_ = nullptr;
  unsigned long capacity_ = 0;
};

}  // namespace approx
