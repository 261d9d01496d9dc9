// The exact product with a sparse dY, on plain memory.
#pragma once

#include "kernels/variant.h"

namespace approx {

// `dy` is null: the plan's entries replace it.
//   dW[c, r, s, :] = sum over n and the entries (p, v) of row (n, c) of
//                   v * x[n, h(p) * stride - padding + r * dilation, w(p) * ..., :]
// where x is zero outside its map; dX likewise, with w.
template <typename Real>
struct Arguments<SparseDY, Real> : Arrays<Real> {
  const int64_t* row_start = nullptr;  // [N*Co + 1]
  const int32_t* position = nullptr;   // [entries], h * Wo + w
  const float* value = nullptr;        // [entries]

  static at::Tensor run(const Work<SparseDY, Real>& work, const SparseDY& plan,
                        const Operands& operands);
};

}  // namespace approx
