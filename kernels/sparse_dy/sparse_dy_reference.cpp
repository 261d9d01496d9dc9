#include <algorithm>
#include <cmath>
#include <vector>

#include "kernels/sparse_dy/sparse_dy.h"

namespace approx {

void sparse_dy_weight_gradient_reference(const SparseDYArgs& a, int64_t begin, int64_t end) {
  std::vector<double> row(static_cast<size_t>(a.kh * a.kw * a.ci));
  for (int64_t c = begin; c < end; ++c) {
    std::fill(row.begin(), row.end(), 0.0);
    for (int64_t n = 0; n < a.n; ++n) {
      for (int64_t e = a.row_start[n * a.co + c]; e < a.row_start[n * a.co + c + 1]; ++e) {
        const int64_t top = a.position[e] / a.wo * a.stride - a.padding;
        const int64_t left = a.position[e] % a.wo * a.stride - a.padding;
        for (int64_t r = 0; r < a.kh; ++r) {
          for (int64_t s = 0; s < a.kw; ++s) {
            const int64_t y = top + r * a.dilation, x = left + s * a.dilation;
            if (y < 0 || y >= a.h || x < 0 || x >= a.w) continue;  // the padding is zero
            for (int64_t i = 0; i < a.ci; ++i) {
              row[static_cast<size_t>((r * a.kw + s) * a.ci + i)] +=
                  double{a.value[e]} * a.x[((n * a.h + y) * a.w + x) * a.ci + i];
            }
          }
        }
      }
    }
    for (size_t i = 0; i < row.size(); ++i) {
      a.dw[c * static_cast<int64_t>(row.size()) + static_cast<int64_t>(i)] =
          static_cast<float>(row[i]);
    }
  }
}

void plane_peak_reference(const PeakArgs& a, int64_t begin, int64_t end) {
  for (int64_t n = begin; n < end; ++n) {
    for (int64_t c = 0; c < a.co; ++c) {
      const float* plane = a.dy + n * a.plane * a.co + c;
      double sum = 0;
      int64_t peak = 0;
      for (int64_t p = 0; p < a.plane; ++p) {
        sum += plane[p * a.co];
        if (std::abs(plane[p * a.co]) > std::abs(plane[peak * a.co])) peak = p;
      }
      a.position[n * a.co + c] = static_cast<int32_t>(peak);
      a.sum[n * a.co + c] = static_cast<float>(sum);
    }
  }
}

}  // namespace approx
