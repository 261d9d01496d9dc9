// Who wants to see a gradient while what computes it writes it.
#pragma once

#include <cstdint>

namespace at {
class Tensor;
}

namespace approx {

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
};

}  // namespace approx
