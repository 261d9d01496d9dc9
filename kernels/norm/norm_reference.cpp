// The definition in plain loops and double precision.
#include <cmath>
#include <numbers>

#include "kernels/norm/norm.h"

namespace approx {
namespace {

// Two sums per channel over rows of what `body(row, channel, first, second)` adds to them.
template <typename Body>
void two_sums(int64_t channels, int64_t begin, int64_t end, float* first, float* second,
              Body body) {
  for (int64_t c = 0; c < channels; ++c) {
    double a = 0, b = 0;
    for (int64_t row = begin; row < end; ++row) body(row * channels + c, c, a, b);
    first[c] = static_cast<float>(a);
    second[c] = static_cast<float>(b);
  }
}

template <typename Body>
void for_numbers(int64_t channels, int64_t begin, int64_t end, Body body) {
  for (int64_t row = begin; row < end; ++row) {
    for (int64_t c = 0; c < channels; ++c) body(row * channels + c, c);
  }
}

template <typename Number>
double wide(Number number) {
  return double{static_cast<float>(number)};
}

// The normalised x before its tail.
template <typename Number>
double affine(Number x, float scale, float offset) {
  return scale * wide(x) + offset;
}

double normal_distribution(double z) { return std::erfc(-z / std::numbers::sqrt2) / 2; }

// The smooth tail of z and its slope; their limits at the infinities.
double smooth_tail(NormTail tail, double alpha, double z) {
  if (tail == NormTail::kCelu) return z > 0 ? z : alpha * std::expm1(z / alpha);
  return std::isinf(z) && z < 0 ? -0.0 : z * normal_distribution(z);
}
double smooth_slope(NormTail tail, double alpha, double z) {
  if (tail == NormTail::kCelu) return z > 0 ? 1 : std::exp(z / alpha);
  if (std::isinf(z)) return z > 0 ? 1 : 0;
  const double density =
      std::exp(-z * z / 2) / (std::numbers::sqrt2 / std::numbers::inv_sqrtpi);  // sqrt(2 pi)
  return normal_distribution(z) + z * density;
}

template <typename Number>
void moments(const NormMoments<Number>& a, int64_t begin, int64_t end, float* sum, float* square) {
  two_sums(a.channels, begin, end, sum, square, [&](int64_t i, int64_t c, double& s, double& q) {
    const double value = wide(a.x[i]) - a.shift[c];
    s += value;
    q += value * value;
  });
}

template <typename Number>
void apply(const NormApply<Number>& a, int64_t begin, int64_t end) {
  for_numbers(a.channels, begin, end, [&](int64_t i, int64_t c) {
    double value = affine(a.x[i], a.scale[c], a.offset[c]);
    if (adds_residual(a.tail)) value += wide(a.residual[i]);
    if (is_smooth(a.tail)) {
      value = smooth_tail(a.tail, a.alpha, value);
    } else if (a.tail != NormTail::kNone && value < 0) {
      value = 0;
    }
    a.y[i] = Number(static_cast<float>(value));
  });
}

template <typename Number>
void sums(const NormSums<Number>& a, int64_t begin, int64_t end, float* sum, float* product) {
  two_sums(a.channels, begin, end, sum, product, [&](int64_t i, int64_t c, double& s, double& q) {
    double g = wide(a.dy[i]);
    if (a.tail == NormTail::kRelu && affine(a.x[i], a.scale[c], a.offset[c]) <= 0) g = 0;
    if (is_smooth(a.tail)) {
      double z = affine(a.x[i], a.scale[c], a.offset[c]);
      if (adds_residual(a.tail)) z += wide(a.residual[i]);
      g *= smooth_slope(a.tail, a.alpha, z);
    }
    if (a.tail == NormTail::kAddRelu && wide(a.y[i]) <= 0) g = 0;
    if (adds_residual(a.tail)) a.dresidual[i] = Number(static_cast<float>(g));
    s += g;
    q += g * (wide(a.x[i]) - a.mean[c]);
  });
}

template <typename Number>
void gradient(const NormGradient<Number>& a, int64_t begin, int64_t end) {
  for_numbers(a.channels, begin, end, [&](int64_t i, int64_t c) {
    double g = wide(a.dy[i]);
    if (a.relu && affine(a.x[i], a.scale[c], a.offset[c]) <= 0) g = 0;
    if (is_smooth(a.smooth)) {
      g *= smooth_slope(a.smooth, a.alpha, affine(a.x[i], a.scale[c], a.offset[c]));
    }
    a.dx[i] = Number(static_cast<float>(a.a[c] * g + a.b[c] * wide(a.x[i]) + a.d[c]));
  });
}

REGISTER_NORM("reference", {moments<float>, apply<float>, sums<float>, gradient<float>},
              {moments<BFloat16>, apply<BFloat16>, sums<BFloat16>, gradient<BFloat16>})
    .definition();

}  // namespace
}  // namespace approx
