// Every multiplication of a product, one by one. The definitions of the plans use it.
#pragma once

#include <algorithm>

#include "kernels/variant.h"

namespace approx {

// Calls body(tap, y, x) for the taps of the kernel, numbered r * Kw + s, at the output pixel
// (oy, ox). Each tap reads the pixel (y, x) of the map. Taps that meet the padding, which is zero,
// are left out.
template <typename Body>
inline void for_taps(const Problem& p, int64_t oy, int64_t ox, Body body) {
  const Geometry& g = p.geometry;
  for (int64_t r = 0; r < p.kh; ++r) {
    const int64_t y = oy * g.stride.h - g.padding.h + r * g.dilation.h;
    if (y < 0 || y >= p.h) continue;
    for (int64_t s = 0; s < p.kw; ++s) {
      const int64_t x = ox * g.stride.w - g.padding.w + s * g.dilation.w;
      if (x < 0 || x >= p.w) continue;
      body(r * p.kw + s, y, x);
    }
  }
}

// Computes slices [begin, end) of the product. Each multiplication of example n, input channel ci
// and output channel co counts `factor(n, ci, co)` times. Multiplications that count zero times are
// left out, so an infinity in them has no effect.
template <typename Factor>
inline void multiply_all(const Arrays<double>& a, int64_t begin, int64_t end, Factor factor) {
  const Problem& p = a.problem;
  std::fill(a.slice(begin), a.slice(end), 0.0);
  const bool of_weights = p.product == Product::kWeightGradient;
  const int64_t inputs = p.group_inputs(), group_outputs = p.co / p.geometry.groups;
  for (int64_t n = of_weights ? 0 : begin; n < (of_weights ? p.n : end); ++n) {
    for (int64_t oy = 0; oy < p.ho; ++oy) {
      for (int64_t ox = 0; ox < p.wo; ++ox) {
        for (int64_t co = of_weights ? begin : 0; co < (of_weights ? end : p.co); ++co) {
          const int64_t first = co / group_outputs * inputs;  // input channel of the group
          const int64_t y_at = ((n * p.ho + oy) * p.wo + ox) * p.co + co;
          for_taps(p, oy, ox, [&](int64_t tap, int64_t y, int64_t x) {
            const int64_t x_at = ((n * p.h + y) * p.w + x) * p.ci + first;
            const int64_t w_at = (co * p.kh * p.kw + tap) * inputs;
            const auto times = [&](int64_t i) { return factor(n, first + i, co); };
            switch (p.product) {
              case Product::kForward: {
                double sum = 0;
                for (int64_t i = 0; i < inputs; ++i) {
                  if (times(i) != 0) sum += times(i) * a.x[x_at + i] * a.w[w_at + i];
                }
                a.out[y_at] += sum;
                break;
              }
              case Product::kDataGradient:
                for (int64_t i = 0; i < inputs; ++i) {
                  if (times(i) != 0) a.out[x_at + i] += times(i) * a.dy[y_at] * a.w[w_at + i];
                }
                break;
              case Product::kWeightGradient:
                for (int64_t i = 0; i < inputs; ++i) {
                  if (times(i) != 0) a.out[w_at + i] += times(i) * a.x[x_at + i] * a.dy[y_at];
                }
                break;
            }
          });
        }
      }
    }
  }
}

// The exact product.
inline void multiply_all(const Arrays<double>& a, int64_t begin, int64_t end) {
  multiply_all(a, begin, end, [](int64_t, int64_t, int64_t) { return 1.0; });
}

}  // namespace approx
