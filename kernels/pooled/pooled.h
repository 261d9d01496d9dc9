// A gradient at the resolution of patches, on plain memory.
#pragma once

#include "kernels/pooled/patches.h"
#include "kernels/variant.h"

namespace approx {

template <typename Real>
struct Arguments<Pooled, Real> : Arrays<Real> {
  int64_t r = 1;

  PatchGrid grid() const { return PatchGrid(this->problem, r); }

  static at::Tensor run(const Work<Pooled, Real>& work, const Pooled& plan,
                        const Operands& operands);
};

}  // namespace approx
