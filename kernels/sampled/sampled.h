// The exact product with a factor on each entry of one axis, on plain memory.
#pragma once

#include "kernels/variant.h"

namespace approx {

// Exactly one of the three is not null: the factors of that axis, zero for entries that were not
// sampled. Such entries are not read: if they are input channels, x may hold anything there.
template <typename Real>
struct Arguments<Sampled, Real> : Arrays<Real> {
  const float* example = nullptr;         // [N]
  const float* input_channel = nullptr;   // [Ci]
  const float* output_channel = nullptr;  // [Co]

  static at::Tensor run(const Work<Sampled, Real>& work, const Sampled& plan,
                        const Operands& operands);
};

}  // namespace approx
