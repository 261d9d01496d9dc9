// The exact product with a pruned tensor in place of dY, on plain memory. `dy` is the pruned
// tensor.
#pragma once

#include "kernels/gpu/scratch.h"
#include "kernels/variant.h"

namespace approx {

template <typename Real>
struct Arguments<PrunedDY, Real> : Arrays<Real> {
  GpuScratch* scratch = nullptr;  // only for a launch

  static at::Tensor run(const Work<PrunedDY, Real>& work, const PrunedDY& plan,
                        const Operands& operands);
};

}  // namespace approx
