#include "core/data/photo_view.h"

#include <algorithm>
#include <cmath>

namespace approx {

Box random_resized_box(int64_t height, int64_t width, const CropRanges& ranges, const Rng& rng,
                       uint32_t index) {
  const auto area = static_cast<double>(height * width);
  const double log_ratio = std::log(ranges.ratio_min);
  for (uint32_t attempt = 0; attempt < kPhotoAttempts; ++attempt) {
    const auto words = rng.block(kPhotoBlocks * index + attempt);
    const double share =
        ranges.scale_min + (ranges.scale_max - ranges.scale_min) * Rng::uniform(words[0]);
    const double ratio = std::exp(log_ratio * (1 - 2.0 * Rng::uniform(words[1])));
    const auto w = static_cast<int64_t>(std::lround(std::sqrt(area * share * ratio)));
    const auto h = static_cast<int64_t>(std::lround(std::sqrt(area * share / ratio)));
    if (w < 1 || h < 1 || w > width || h > height) continue;
    return {.top = double(Rng::below(static_cast<uint32_t>(height - h + 1), words[2])),
            .left = double(Rng::below(static_cast<uint32_t>(width - w + 1), words[3])),
            .height = static_cast<double>(h),
            .width = static_cast<double>(w)};
  }
  const auto within = [&](double side, double other) {  // the longest of `side` beside `other`
    return std::max(1.0, std::min(side, std::round(other / ranges.ratio_min)));
  };
  const auto full_h = static_cast<double>(height), full_w = static_cast<double>(width);
  const double h = within(full_h, full_w), w = within(full_w, full_h);
  return {std::floor((full_h - h) / 2), std::floor((full_w - w) / 2), h, w};
}

Box centre_box(int64_t height, int64_t width, int64_t size) {
  const double resized = std::round(static_cast<double>(size) / 0.875);
  const double side =
      static_cast<double>(std::min(height, width)) * static_cast<double>(size) / resized;
  return {(static_cast<double>(height) - side) / 2, (static_cast<double>(width) - side) / 2, side,
          side};
}

void PhotoViewer::render(Bytes file, const std::string& place, const PhotoView& view,
                         uint8_t* out) {
  const auto header = read_photo_header(file, place);
  auto box = view.random ? random_resized_box(header.height, header.width, view.ranges, view.rng,
                                              view.index)
                         : centre_box(header.height, header.width, view.size);
  const auto size = static_cast<double>(view.size);
  const int64_t shrink = photo_shrink(header, box.height, box.width, size, size);
  decode_photo(file, header, place, shrink, raster_);
  const auto by = static_cast<double>(shrink);
  box = {box.top / by, box.left / by, box.height / by, box.width / by};
  const bool flip = view.mirrored.value_or(
      view.may_flip && (view.rng.block(kPhotoBlocks * view.index + kPhotoExtras)[0] & 1));
  resample_(raster_, box, view.size, view.size, flip, out);
}

}  // namespace approx
