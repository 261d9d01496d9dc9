#include "kernels/dense/dense.h"

#include "kernels/loop_memory.h"
#include "kernels/plan.h"

namespace approx {

template <typename Real>
at::Tensor Arguments<Dense, Real>::run(Loop<Dense, Real> loop, const Dense& /*plan*/,
                                       const Operands& o) {
  LoopMemory<Real> memory(o);
  in_parallel<Dense, Real>(loop, {memory.arrays(o.x, o.w, o.dy)});
  return memory.finished();
}

template struct Arguments<Dense, float>;
template struct Arguments<Dense, double>;

}  // namespace approx
