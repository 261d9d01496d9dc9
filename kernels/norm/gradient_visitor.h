// An interface to see a gradient while it is being written.
#pragma once

#include <cstdint>

#include "kernels/rng.h"

namespace at {
class Tensor;
}

namespace approx {

// Work on a gradient while a GPU writes it, on pointers to its memory. It takes the mean magnitude
// of the computed gradient. Where the threshold is known beforehand, it prunes the gradient
// (StochasticArgs, kernels/select/pruned.h).
struct GradientLook {
  float* mean = nullptr;       // []
  const float* tau = nullptr;  // [], a value of the gradient's type; null: no pruning
  // Only with tau:
  int64_t* kept = nullptr;  // [], to which the number of nonzero entries is added
  Rng rng;
};

// A gradient is larger than a cache, and every pass over it costs memory traffic. A question about
// it (its magnitude, which entries to keep) costs next to nothing while a block of it has just been
// computed.
class GradientVisitor {
 public:
  virtual ~GradientVisitor() = default;

  // Called before the first block: `gradient` will be written in `blocks` blocks, [N,C,H,W] of
  // float or bfloat16, channels last. The number and sizes of blocks depend only on the shape. Its
  // memory stays until the last block. A visitor that keeps the tensor itself counts as another
  // reader.
  virtual void begin(const at::Tensor& gradient, int64_t blocks) = 0;

  // Elements [first, last) in the order of memory have been written, `first` a multiple of 4.
  // Called once for each block, by several threads in any order. It may write to the block.
  virtual void visit(int64_t block, int64_t first, int64_t last) = 0;

  // For a gradient of float, bfloat16 or float16 on a GPU, in place of begin() and visit(): the
  // work for its kernel. Called before the kernel is started, and waits for nothing. The memory
  // stays as long as the visitor.
  virtual GradientLook look(const at::Tensor& gradient) = 0;
};

}  // namespace approx
