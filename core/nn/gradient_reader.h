// How a layer looks at its gradient while the batch norm after it writes that gradient.
#pragma once

#include <torch/csrc/autograd/function.h>

#include <optional>

#include "kernels/norm/gradient_visitor.h"

namespace approx {

// A node of the autograd graph that may look at its incoming gradient while the node behind it
// writes that gradient.
class GradientReader {
 public:
  virtual ~GradientReader() = default;

  // The visitor for the gradient that `writer` is about to write in this pass; null: none. A
  // visitor may overwrite the gradient. It is therefore null unless that gradient is the node's
  // whole incoming gradient. Call it once a pass. The visitor lives as long as the node.
  virtual GradientVisitor* visitor(const torch::autograd::Node& writer) = 0;

  // Method::drops_examples() of the node's data gradient.
  virtual std::optional<double> drops_examples() const = 0;
};

}  // namespace approx
