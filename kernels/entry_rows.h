// Whether kernels/entry_rows-inl.h can compute a problem.
#pragma once

#include "products/problem.h"

namespace approx {

// It needs whole vectors of input channels on every instruction set. Each row of dX must be reached
// by a tap, unless a stride skips rows.
inline bool entry_rows_fit(const Problem& p) {
  const Geometry& g = p.geometry;
  return p.one_group() && g.stride.h <= 2 && g.stride.w <= 2 && g.dilation == Spatial(1) &&
         p.ci % 16 == 0 && (p.kw == 1 || p.kw == 3 || p.kw == 5) && g.padding.w < p.kw &&
         g.padding.h < p.kh && p.n * p.ho * p.wo > 0;
}

}  // namespace approx
