// The choice between LibTorch's operators and the fastest ones.
#pragma once

#include "base/enum_text.h"

namespace approx {

// kBest: the fastest operator available for each product, and for each batch norm with the
// operation after it. Kernels of our own are among them (kernels/dense/, kernels/norm/). kLibrary:
// LibTorch's convolution, linear function, batch norm, addition and ReLU, one after the other as
// PyTorch computes eagerly. This is the stock step: speedups over it must not be mistaken for those
// of a method.
enum class OperatorSet { kBest, kLibrary };

constexpr auto enum_texts(OperatorSet) {
  return std::to_array<EnumText<OperatorSet>>(
      {{OperatorSet::kBest, "best"}, {OperatorSet::kLibrary, "library"}});
}

}  // namespace approx
