// A product of operands in 8-bit integers, on plain memory.
//
// Each operand is rounded to whole multiples of its scales (kernels/quantized/rounding.h). The
// result is the exact product of the rounded operands. The operands x and w are rounded to nearest.
// That of the gradient is too, or by chance: element i of dY, with the channels last, has draw i
// (Rng::uniform of word i).
#pragma once

#include "kernels/quantized/rounding.h"
#include "kernels/rng.h"
#include "kernels/variant.h"

namespace approx {

template <typename Real>
struct Arguments<Quantized, Real> : Arrays<Real> {
  Scales scales = Scales::kSlices;
  bool by_chance = true;
  Rng rng;

  static at::Tensor run(const Work<Quantized, Real>& work, const Quantized& plan,
                        const Operands& operands);
};

}  // namespace approx
