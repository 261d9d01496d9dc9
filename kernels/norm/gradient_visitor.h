// Who wants to see a gradient while what computes it writes it.
#pragma once

#include <cstdint>

#include "kernels/rng.h"

namespace at {
class Tensor;
}

namespace approx {

// What a GPU does to a gradient while it writes it, on pointers of its memory: it takes the mean
// magnitude of what it computed, and prunes that (StochasticArgs, kernels/select/pruned.h) where
// the threshold is known beforehand.
struct GradientLook {
  float* mean = nullptr;       // []
  const float* tau = nullptr;  // [], a number that the gradient's type has; null: nothing is pruned
  // Only with tau:
  int64_t* kept = nullptr;  // [], to which the number of entries that are not zero is added
  Rng rng;
};

// A gradient is larger than a cache, and every pass over it is paid for in memory traffic. What is
// asked of it in passes of its own (how large it is, what of it stays) costs next to nothing where
// a block of it has just been computed.
class GradientVisitor {
 public:
  virtual ~GradientVisitor() = default;

  // Before the first block: what will be written, [N,C,H,W] of float or bfloat16 with the channels
  // last, and in how many blocks. Their number and their sizes depend on the shape alone. Its
  // memory stays until the last; who keeps the tensor itself is seen as another that reads it.
  virtual void begin(const at::Tensor& gradient, int64_t blocks) = 0;

  // Elements [first, last) in the order of memory have been written, `first` a multiple of 4.
  // Called once for each block, by several threads in any order, and may write to it.
  virtual void visit(int64_t block, int64_t first, int64_t last) = 0;

  // Of a gradient on a GPU, of float, bfloat16 or float16, in place of both: what its kernel is to
  // do. Called before that is started, and waits for nothing; the memory stays as long as the
  // visitor.
  virtual GradientLook look(const at::Tensor& gradient) = 0;
};

}  // namespace approx
