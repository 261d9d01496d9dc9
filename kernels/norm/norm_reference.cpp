// The definition in plain loops and double precision.
#include <vector>

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

// The normalised x before its tail.
double affine(float x, float scale, float offset) { return double{scale} * x + offset; }

void moments(const NormMoments& a, int64_t begin, int64_t end, float* sum, float* square) {
  two_sums(a.channels, begin, end, sum, square, [&](int64_t i, int64_t c, double& s, double& q) {
    const double value = double{a.x[i]} - a.shift[c];
    s += value;
    q += value * value;
  });
}

void apply(const NormApply& a, int64_t begin, int64_t end) {
  for_numbers(a.channels, begin, end, [&](int64_t i, int64_t c) {
    double value = affine(a.x[i], a.scale[c], a.offset[c]);
    if (a.tail == NormTail::kAddRelu) value += a.residual[i];
    if (a.tail != NormTail::kNone && value < 0) value = 0;
    a.y[i] = static_cast<float>(value);
  });
}

void sums(const NormSums& a, int64_t begin, int64_t end, float* sum, float* product) {
  two_sums(a.channels, begin, end, sum, product, [&](int64_t i, int64_t c, double& s, double& q) {
    double g = a.dy[i];
    if (a.tail == NormTail::kRelu && affine(a.x[i], a.scale[c], a.offset[c]) <= 0) g = 0;
    if (a.tail == NormTail::kAddRelu) {
      if (a.y[i] <= 0) g = 0;
      a.dresidual[i] = static_cast<float>(g);
    }
    s += g;
    q += g * (double{a.x[i]} - a.mean[c]);
  });
}

void gradient(const NormGradient& a, int64_t begin, int64_t end) {
  for_numbers(a.channels, begin, end, [&](int64_t i, int64_t c) {
    double g = a.dy[i];
    if (a.relu && affine(a.x[i], a.scale[c], a.offset[c]) <= 0) g = 0;
    a.dx[i] = static_cast<float>(a.a[c] * g + double{a.b[c]} * a.x[i] + a.d[c]);
  });
}

REGISTER_NORM("reference", {moments, apply, sums, gradient}).definition();

}  // namespace
}  // namespace approx
