#include <algorithm>

#include "kernels/multiplications.h"
#include "kernels/sparse_dy/sparse_dy.h"

namespace approx {
namespace {

using Args = Arguments<SparseDY, double>;

// Calls body(output pixel as row and column, value) for every entry of a row.
template <typename Body>
void for_entries(const Args& a, int64_t n, int64_t co, Body body) {
  const int64_t row = n * a.problem.co + co, wo = a.problem.wo;
  for (int64_t e = a.row_start[row]; e < a.row_start[row + 1]; ++e) {
    body(a.position[e] / wo, a.position[e] % wo, double{a.value[e]});
  }
}

// Each entry v of plane (n, co) adds v * x to the weight gradient, or v * w to the data gradient,
// at all that its output pixel was computed from.
void sparse_product(const Args& a, int64_t begin, int64_t end) {
  const Problem& p = a.problem;
  std::fill(a.slice(begin), a.slice(end), 0.0);
  const bool of_weights = p.product == Product::kWeightGradient;
  const int64_t inputs = p.group_inputs(), group_outputs = p.co / p.geometry.groups;
  for (int64_t n = of_weights ? 0 : begin; n < (of_weights ? p.n : end); ++n) {
    for (int64_t co = of_weights ? begin : 0; co < (of_weights ? end : p.co); ++co) {
      const int64_t first = co / group_outputs * inputs;  // input channel of the group
      for_entries(a, n, co, [&](int64_t oy, int64_t ox, double value) {
        for_taps(p, oy, ox, [&](int64_t tap, int64_t y, int64_t x) {
          const int64_t x_at = ((n * p.h + y) * p.w + x) * p.ci + first;
          const int64_t w_at = (co * p.kh * p.kw + tap) * inputs;
          for (int64_t i = 0; i < inputs; ++i) {
            if (of_weights) {
              a.out[w_at + i] += value * a.x[x_at + i];
            } else {
              a.out[x_at + i] += value * a.w[w_at + i];
            }
          }
        });
      });
    }
  }
}

REGISTER_KERNEL(SparseDY, "reference", sparse_product)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .definition();

}  // namespace
}  // namespace approx
