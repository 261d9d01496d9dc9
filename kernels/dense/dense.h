// The exact product on plain memory.
#pragma once

#include "kernels/variant.h"

namespace approx {

template <typename Real>
struct Arguments<Dense, Real> : Arrays<Real> {
  static at::Tensor run(const Work<Dense, Real>& work, const Dense& plan, const Operands& operands);
};

}  // namespace approx
