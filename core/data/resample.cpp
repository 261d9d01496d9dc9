#include "core/data/resample.h"

#include <algorithm>
#include <cmath>

namespace approx {
namespace {

// One row of weighted bytes added to a row of sums; a function of its own for the vectoriser.
void add_weighted(const uint8_t* __restrict source, float weight, int64_t count,
                  float* __restrict sums) {
  for (int64_t i = 0; i < count; ++i) sums[i] += weight * static_cast<float>(source[i]);
}

uint8_t rounded(float value) {
  return static_cast<uint8_t>(std::clamp(value + 0.5f, 0.0f, 255.0f));
}

}  // namespace

void Resampler::Axis::plan(double start, double length, int64_t results, int64_t pixels) {
  const auto clamped = [pixels](double edge) {
    return std::clamp(static_cast<int64_t>(edge), int64_t{0}, pixels);
  };
  const int64_t begin = std::min(clamped(std::floor(start)), pixels - 1);
  const int64_t end = std::max(clamped(std::ceil(start + length)), begin + 1);
  const double step = length / static_cast<double>(results);
  const double reach = std::max(1.0, step);
  taps.clear();
  weights.clear();
  for (int64_t i = 0; i < results; ++i) {
    const double centre = start + (static_cast<double>(i) + 0.5) * step;
    // Pixels whose middle is less than `reach` away; where rounding leaves none, the nearest.
    auto first = std::max(begin, static_cast<int64_t>(std::floor(centre - reach - 0.5)) + 1);
    auto last = std::min(end - 1, static_cast<int64_t>(std::ceil(centre + reach - 0.5)) - 1);
    if (last < first) first = last = std::clamp(static_cast<int64_t>(centre), begin, end - 1);
    const auto weight = [&](int64_t pixel) {
      return 1 - std::abs(static_cast<double>(pixel) + 0.5 - centre) / reach;
    };
    double sum = 0;
    for (int64_t pixel = first; pixel <= last; ++pixel) sum += weight(pixel);
    taps.push_back({first, last - first + 1, weights.size()});
    for (int64_t pixel = first; pixel <= last; ++pixel) {
      weights.push_back(sum > 0 ? static_cast<float>(weight(pixel) / sum) : 1.0f);
    }
  }
}

void Resampler::operator()(const Raster& source, const Box& box, int64_t height, int64_t width,
                           bool mirrored, uint8_t* out) {
  rows_.plan(box.top, box.height, height, source.height);
  columns_.plan(box.left, box.width, width, source.width);
  const int64_t from = columns_.taps.front().first;
  const int64_t to = columns_.taps.back().first + columns_.taps.back().count;
  row_.resize(static_cast<size_t>(3 * (to - from)));
  for (const auto& down : rows_.taps) {
    std::fill(row_.begin(), row_.end(), 0.0f);
    for (int64_t i = 0; i < down.count; ++i) {
      add_weighted(source.pixels.data() + 3 * ((down.first + i) * source.width + from),
                   rows_.weights[down.weights + static_cast<size_t>(i)], 3 * (to - from),
                   row_.data());
    }
    for (int64_t x = 0; x < width; ++x) {
      const auto& across = columns_.taps[static_cast<size_t>(mirrored ? width - 1 - x : x)];
      const float* pixel = row_.data() + 3 * (across.first - from);
      const float* weight = columns_.weights.data() + across.weights;
      float red = 0, green = 0, blue = 0;
      for (int64_t i = 0; i < across.count; ++i, pixel += 3) {
        red += weight[i] * pixel[0];
        green += weight[i] * pixel[1];
        blue += weight[i] * pixel[2];
      }
      *out++ = rounded(red);
      *out++ = rounded(green);
      *out++ = rounded(blue);
    }
  }
}

}  // namespace approx
