// The seam between a batch norm and the layer before it in the backward pass.
#pragma once

#include "kernels/norm/gradient_visitor.h"

namespace approx {

// A node of the autograd graph that may want to see the gradient it is going to be given while the
// node behind it writes it.
class GradientReader {
 public:
  virtual ~GradientReader() = default;

  // Who looks at it in this pass, null for nobody. Asked once; lives as long as the node.
  virtual GradientVisitor* visitor() = 0;
};

}  // namespace approx
