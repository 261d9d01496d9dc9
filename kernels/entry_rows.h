// What kernels/entry_rows-inl.h can compute.
#pragma once

#include "products/problem.h"

namespace approx {

// Whole vectors of input channels on every instruction set, and no row of dX that no tap reaches
// unless a stride leaves some out.
inline bool entry_rows_fit(const Problem& p) {
  const Geometry& g = p.geometry;
  return p.one_group() && g.stride.h <= 2 && g.stride.w <= 2 && g.dilation == Spatial(1) &&
         p.ci % 16 == 0 && (p.kw == 1 || p.kw == 3 || p.kw == 5) && g.padding.w < p.kw &&
         g.padding.h < p.kh && p.n * p.ho * p.wo > 0;
}

}  // namespace approx
