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

// Of SOF0 to SOF15.
bool is_progressive(uint8_t frame_marker) { return (frame_marker & 3) == 2; }

// Whether no length follows a marker. The decoder passes over such a one (TEM, RST0 to RST7) and
// reads on right behind it; nobody writes one before a scan but to hide what comes next.
bool stands_alone(uint8_t marker) { return marker == 0x01 || (marker >= 0xd0 && marker <= 0xd7); }

int64_t divide_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// Of the channels of a frame: 64 numbers of 16 bits for each block of 8x8 samples. The image is cut
// into units in which every channel has so many blocks across and down, and has whole units.
int64_t coefficient_bytes_of(Bytes frame, int64_t height, int64_t width) {
  constexpr int64_t kSide = 8, kBlockBytes = kSide * kSide * 2;
  constexpr size_t kFirstChannel = 6, kChannelBytes = 3;
  int64_t blocks = 0, most_across = 1, most_down = 1;
  for (size_t at = kFirstChannel + 1; at < frame.size(); at += kChannelBytes) {
    const int64_t across = frame[at] >> 4, down = frame[at] & 15;
    blocks += across * down;
    most_across = std::max(most_across, across);
    most_down = std::max(most_down, down);
  }
  return divide_up(height, kSide * most_down) * divide_up(width, kSide * most_across) * blocks *
         kBlockBytes;
}

PhotoHeader::Kind jpeg_kind(int components, const std::string& place) {
  switch (components) {
    case 1:
      return PhotoHeader::Kind::kGreyJpeg;
    case 3:
      return PhotoHeader::Kind::kColourJpeg;
    case 4:
      return PhotoHeader::Kind::kCmykJpeg;
    default:
      throw data_error("{}: expected 1, 3 or 4 channels, found {}", place, components);
  }
}

// Walks the segments up to the first scan. The decoder reads the same bytes anew and is told the
// size that is found here: a file that shows the two of us different sizes is an error of its.
PhotoHeader read_jpeg_header(Bytes file, const std::string& place) {
  PhotoHeader header;
  Bytes frame;  // the segment with the size
  int components = 0;
  bool several_scans = false;
  constexpr uint8_t kFill = 0xff, kScan = 0xda, kEnd = 0xd9, kAdobe = 0xee;
  size_t at = 2;  // behind the start mark
  while (true) {
    if (at + 4 > file.size()) break;
    if (file[at] != kFill || stands_alone(file[at + 1])) {
      throw data_error("{}: at byte {}: expected a segment of a JPEG file, found other bytes",
                       place, at);
    }
    const uint8_t marker = file[at + 1];
    if (marker == kFill) {  // padding before a marker
      ++at;
      continue;
    }
    if (marker == kEnd) break;
    const size_t length = big_endian(file, at + 2);
    const auto segment = file.subspan(at + 4);
    if (length < 2 || length - 2 > segment.size()) break;
    const auto content = segment.first(length - 2);
    if (marker == kScan) {
      // Others follow one that has not all channels.
      several_scans = several_scans || (!content.empty() && content[0] < components);
      break;
    }
    if (begins_frame(marker) && components == 0) {
      if (content.size() < 6) break;
      frame = content;
      header.height = big_endian(content, 1);
      header.width = big_endian(content, 3);
      components = content[5];
      several_scans = is_progressive(marker);
    }
    if (marker == kAdobe && content.size() >= 12 &&
        std::equal(content.begin(), content.begin() + 5, "Adobe")) {
      header.inverted_inks = true;
    }
    at += 2 + length;
  }
  if (components == 0) {
    throw data_error("{}: at byte {}: expected the size of a JPEG image, found none", place,
                     std::min(at, file.size()));
  }
  header.kind = jpeg_kind(components, place);
  if (several_scans) {
    header.coefficient_bytes = coefficient_bytes_of(frame, header.height, header.width);
  }
  return header;
}

// Memory is given back before more is taken, and where a far larger image has left it: what one
// image takes is what it would take alone.
void make_room(std::vector<uint8_t>& pixels, size_t size) {
  constexpr size_t kKept = size_t{4} << 20;
  if (size > pixels.capacity() || pixels.capacity() - size > kKept) {
    pixels = std::vector<uint8_t>();
  }
  pixels.resize(size);
}

// [H,W,4] inks to [H,W,3], where they are: what an ink leaves of the light times what black leaves
// of it.
void inks_to_rgb(bool inverted, std::vector<uint8_t>& pixels) {
  const auto light = [inverted](uint8_t ink) { return inverted ? ink : 255 - ink; };
  const size_t count = pixels.size() / 4;
  for (size_t pixel = 0; pixel < count; ++pixel) {
    const auto* inks = &pixels[4 * pixel];
    auto* rgb = &pixels[3 * pixel];
    const int black = light(inks[3]);
    for (size_t c = 0; c < 3; ++c) {
      rgb[c] = static_cast<uint8_t>((light(inks[c]) * black + 127) / 255);
    }
  }
  pixels.resize(3 * count);
}

void decode_jpeg(Bytes file, const PhotoHeader& header, const std::string& place, Raster& raster) {
  const bool cmyk = header.kind == PhotoHeader::Kind::kCmykJpeg;
  if (cmyk) make_room(raster.pixels, raster.pixels.size() / 3 * 4);
  const JpegHandle jpeg;
  if (tjDecompress2(jpeg.get(), file.data(), file.size(), raster.pixels.data(),
                    static_cast<int>(raster.width), /*pitch=*/0, static_cast<int>(raster.height),
                    cmyk ? TJPF_CMYK : TJPF_RGB,
                    TJFLAG_STOPONWARNING | TJFLAG_ACCURATEDCT | TJFLAG_LIMITSCANS) != 0) {
    throw data_error("{}: expected a whole JPEG file of {} bytes, found: {}", place, file.size(),
                     jpeg.problem());
  }
  if (cmyk) inks_to_rgb(header.inverted_inks, raster.pixels);
}

int64_t megabytes(int64_t bytes) { return divide_up(bytes, 1'000'000); }

void check_size(const PhotoHeader& header, const std::string& place) {
  if (header.height < 1 || header.width < 1 || header.height * header.width > kMaxPhotoPixels) {
    throw data_error("{}: expected 1 to {} pixels, found {}x{}", place, kMaxPhotoPixels,
                     header.width, header.height);
  }
  if (header.decoding_bytes() > kMaxPhotoBytes) {
    throw data_error(
        "{}: expected at most {} MB when decoded, found {}x{} pixels{}{}, which take {} MB; save "
        "it smaller, or as a baseline JPEG in RGB",
        place, megabytes(kMaxPhotoBytes), header.width, header.height,
        header.kind == PhotoHeader::Kind::kCmykJpeg ? " in CMYK" : "",
        header.coefficient_bytes > 0 ? " in several scans (as progressive files are)" : "",
        megabytes(header.decoding_bytes()));
  }
}

}  // namespace

void Raster::resize(int64_t new_height, int64_t new_width) {
  height = new_height;
  width = new_width;
  make_room(pixels, static_cast<size_t>(height * width * 3));
}

int64_t PhotoHeader::decoding_bytes() const {
  return height * width * (kind == Kind::kCmykJpeg ? 4 : 3) + coefficient_bytes;
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
  check_size(header, place);
  return header;
}

int64_t photo_shrink(const PhotoHeader& header, double height, double width, double least_height,
                     double least_width) {
  if (header.kind == PhotoHeader::Kind::kPng) return 1;
  for (const int64_t shrink : {8, 4, 2}) {
    const auto by = static_cast<double>(shrink);
    if (height / by >= least_height && width / by >= least_width) return shrink;
  }
  return 1;
}

void decode_photo(Bytes file, const PhotoHeader& header, const std::string& place, int64_t shrink,
                  Raster& raster) {
  raster.resize((header.height + shrink - 1) / shrink, (header.width + shrink - 1) / shrink);
  if (header.kind == PhotoHeader::Kind::kPng) {
    decode_png(file, place, {.height = header.height, .width = header.width, .channels = 3},
               raster.pixels.data());
  } else {
    decode_jpeg(file, header, place, raster);
  }
}

PhotoEncoder::PhotoEncoder() : jpeg_(tjInitCompress()) {
  if (jpeg_ == nullptr) throw Error(ErrorKind::kInternal, "libjpeg-turbo cannot be initialised");
}

PhotoEncoder::~PhotoEncoder() {
  tjFree(buffer_);
  tjDestroy(jpeg_);
}

Bytes PhotoEncoder::encode(const Raster& raster, const std::string& place) {
  auto size = capacity_;
  if (tjCompress2(jpeg_, raster.pixels.data(), static_cast<int>(raster.width), /*pitch=*/0,
                  static_cast<int>(raster.height), TJPF_RGB, &buffer_, &size, TJSAMP_420, kQuality,
                  TJFLAG_ACCURATEDCT) != 0) {
    throw data_error("{}: cannot be saved as a JPEG of {}x{} pixels: {}", place, raster.width,
                     raster.height, tjGetErrorStr2(jpeg_));
  }
  capacity_ = std::max(capacity_, size);
  return {buffer_, size};
}

}  // namespace approx
