// The exact product on plain memory.
#pragma once

#include "kernels/variant.h"

namespace approx {

template <typename Real>
struct Arguments<Dense, Real> : Arrays<Real> {
  static at::Tensor run(Loop<Dense, Real> loop, const Dense& plan, const Operands& operands);
};

}  // namespace approx
