#include "core/data/photo.h"

#include <turbojpeg.h>

#include <algorithm>
#include <cmath>

#include "core/data/image.h"
#include "core/data/jpeg_handle.h"

namespace approx {
namespace {

uint16_t big_endian(Bytes bytes, size_t at) {
  return static_cast<uint16_t>(bytes[at] << 8 | bytes[at + 1]);
}

// Whether a marker begins a frame (SOF0 to SOF15); three of the sixteen codes mean other things.
bool begins_frame(uint8_t marker) {
  constexpr uint8_t kHuffmanTable = 0xc4, kReserved = 0xc8, kArithmeticTable = 0xcc;
  return marker >= 0xc0 && marker <= 0xcf && marker != kHuffmanTable && marker != kReserved &&
         marker != kArithmeticTable;
}

// Walks the segments up to the first scan. The decoder reads the same bytes anew and is told the
// size that is found here: a file that shows the two of us different sizes is an error of its.
PhotoHeader read_jpeg_header(Bytes file, const std::string& place) {
  PhotoHeader header;
  int components = 0;
  constexpr uint8_t kFill = 0xff, kScan = 0xda, kEnd = 0xd9, kAdobe = 0xee;
  size_t at = 2;  // behind the start mark
  while (true) {
    if (at + 4 > file.size()) break;
    if (file[at] != kFill) {
      throw data_error("{}: at byte {}: expected a segment of a JPEG file, found other bytes",
                       place, at);
    }
    const uint8_t marker = file[at + 1];
    if (marker == kFill) {  // padding before a marker
      ++at;
      continue;
    }
    if (marker == kScan || marker == kEnd) break;
    const size_t length = big_endian(file, at + 2);
    const auto segment = file.subspan(at + 4);
    if (length < 2 || length - 2 > segment.size()) break;
    const auto content = segment.first(length - 2);
    if (begins_frame(marker) && components == 0) {
      if (content.size() < 6) break;
      header.height = big_endian(content, 1);
      header.width = big_endian(content, 3);
      components = content[5];
    }
    if (marker == kAdobe && content.size() >= 12 &&
        std::equal(content.begin(), content.begin() + 5, "Adobe")) {
      header.inverted_inks = true;
    }
    at += 2 + length;
  }
  switch (components) {
    case 1:
      header.kind = PhotoHeader::Kind::kGreyJpeg;
      break;
    case 3:
      header.kind = PhotoHeader::Kind::kColourJpeg;
      break;
    case 4:
      header.kind = PhotoHeader::Kind::kCmykJpeg;
      break;
    case 0:
      throw data_error("{}: at byte {}: expected the size of a JPEG image, found none", place,
                       std::min(at, file.size()));
    default:
      throw data_error("{}: expected 1, 3 or 4 channels, found {}", place, components);
  }
  return header;
}

// [H,W,4] inks to [H,W,3]: what an ink leaves of the light times what black leaves of it.
void inks_to_rgb(const std::vector<uint8_t>& inks, bool inverted, std::vector<uint8_t>& rgb) {
  const auto light = [inverted](uint8_t ink) { return inverted ? ink : 255 - ink; };
  for (size_t pixel = 0; pixel < inks.size() / 4; ++pixel) {
    const int black = light(inks[4 * pixel + 3]);
    for (size_t c = 0; c < 3; ++c) {
      rgb[3 * pixel + c] = static_cast<uint8_t>((light(inks[4 * pixel + c]) * black + 127) / 255);
    }
  }
}

}  // namespace

void Raster::resize(int64_t new_height, int64_t new_width) {
  height = new_height;
  width = new_width;
  pixels.resize(static_cast<size_t>(height * width * 3));
}

PhotoHeader read_photo_header(Bytes file, const std::string& place) {
  PhotoHeader header;
  switch (image_kind(file)) {
    case ImageKind::kJpeg:
      header = read_jpeg_header(file, place);
      break;
    case ImageKind::kPng: {
      header.kind = PhotoHeader::Kind::kPng;
      std::tie(header.height, header.width) = png_size(file, place);
      break;
    }
    case ImageKind::kOther:
      throw data_error("{}: at byte 0: expected a JPEG or PNG file, found {}", place,
                       file.empty() ? "no bytes" : "something else");
  }
  if (header.height < 1 || header.width < 1 || header.height * header.width > kMaxPhotoPixels) {
    throw data_error("{}: expected 1 to {} pixels, found {}x{}", place, kMaxPhotoPixels,
                     header.width, header.height);
  }
  return header;
}

int64_t PhotoDecoder::shrink_for(const PhotoHeader& header, double height, double width,
                                 double least_height, double least_width) {
  if (header.kind == PhotoHeader::Kind::kPng) return 1;
  for (const int64_t shrink : {8, 4, 2}) {
    const auto by = static_cast<double>(shrink);
    if (height / by >= least_height && width / by >= least_width) return shrink;
  }
  return 1;
}

void PhotoDecoder::decode(Bytes file, const PhotoHeader& header, const std::string& place,
                          int64_t shrink, Raster& raster) {
  raster.resize((header.height + shrink - 1) / shrink, (header.width + shrink - 1) / shrink);
  if (header.kind == PhotoHeader::Kind::kPng) {
    decode_png(file, place, {.height = header.height, .width = header.width, .channels = 3},
               raster.pixels.data());
  } else {
    decode_jpeg(file, header, place, raster);
  }
}

void PhotoDecoder::decode_jpeg(Bytes file, const PhotoHeader& header, const std::string& place,
                               Raster& raster) {
  const bool cmyk = header.kind == PhotoHeader::Kind::kCmykJpeg;
  if (cmyk) inks_.resize(raster.pixels.size() / 3 * 4);
  const JpegHandle jpeg;
  if (tjDecompress2(jpeg.get(), file.data(), file.size(),
                    cmyk ? inks_.data() : raster.pixels.data(), static_cast<int>(raster.width),
                    /*pitch=*/0, static_cast<int>(raster.height), cmyk ? TJPF_CMYK : TJPF_RGB,
                    TJFLAG_STOPONWARNING | TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0) {
    throw data_error("{}: expected a whole JPEG file of {} bytes, found: {}", place, file.size(),
                     jpeg.problem());
  }
  if (cmyk) inks_to_rgb(inks_, header.inverted_inks, raster.pixels);
}

PhotoEncoder::PhotoEncoder() : jpeg_(tjInitCompress()) {
  if (jpeg_ == nullptr) throw Error(ErrorKind::kInternal, "libjpeg-turbo cannot be initialised");
}

PhotoEncoder::~PhotoEncoder() {
  tjFree(buffer_);
  tjDestroy(jpeg_);
}

Bytes PhotoEncoder::encode(const Raster& raster) {
  auto size = capacity_;
  if (tjCompress2(jpeg_, raster.pixels.data(), static_cast<int>(raster.width), /*pitch=*/0,
                  static_cast<int>(raster.height), TJPF_RGB, &buffer_, &size, TJSAMP_420, kQuality,
                  TJFLAG_ACCURATEDCT) != 0) {
    throw Error(ErrorKind::kInternal,
                fmt::format("libjpeg-turbo cannot compress {}x{} pixels: {}", raster.width,
                            raster.height, tjGetErrorStr2(jpeg_)));
  }
  capacity_ = std::max(capacity_, size);
  return {buffer_, size};
}

}  // namespace approx
