// The seam between a batch norm and the layer before it in the backward pass.
#pragma once

#include <torch/csrc/autograd/function.h>

#include "kernels/norm/gradient_visitor.h"

namespace approx {

// A node of the autograd graph that may want to see the gradient it is going to be given while the
// node behind it writes it.
class GradientReader {
 public:
  virtual ~GradientReader() = default;

  // Who looks at what `writer` is about to write in this pass, null for nobody: a visitor may write
  // over what it sees, so that must be all of the gradient. Asked once; lives as long as the node.
  virtual GradientVisitor* visitor(const torch::autograd::Node& writer) = 0;
};

}  // namespace approx
