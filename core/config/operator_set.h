// By whose operators a network computes.
#pragma once

#include "base/enum_text.h"

namespace approx {

// kBest: of each product, and of each batch norm with what follows it, the fastest that is at hand,
// kernels of our own among them (kernels/dense/, kernels/norm/). kLibrary: LibTorch's convolution,
// linear function, batch norm, addition and ReLU, one after the other as PyTorch computes eagerly:
// the stock step that a speedup of ours has to be told from.
enum class OperatorSet { kBest, kLibrary };

constexpr auto enum_texts(OperatorSet) {
  return std::to_array<EnumText<OperatorSet>>(
      {{OperatorSet::kBest, "best"}, {OperatorSet::kLibrary, "library"}});
}

}  // namespace approx
