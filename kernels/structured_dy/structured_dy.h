// The exact product with n of every m neighbouring channels of dY, on plain memory.
#pragma once

#include "kernels/rng.h"
#include "kernels/select/nm_choice.h"
#include "kernels/variant.h"

namespace approx {

// `dy` is complete: the variant itself chooses.
template <typename Real>
struct Arguments<StructuredDY, Real> : Arrays<Real> {
  NmChoice choice;
  Rng rng;

  static at::Tensor run(const Work<StructuredDY, Real>& work, const StructuredDY& plan,
                        const Operands& operands);
};

}  // namespace approx
