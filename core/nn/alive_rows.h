// Which examples of a gradient are alive, as a note on the gradient itself. A layer that leaves out
// whole examples notes it on its dX. The next node of the backward pass reads the note if it gets
// that very gradient. Sums with other gradients, views and tensors changed in place have no note.
#pragma once

#include <ATen/core/Tensor.h>

#include "core/methods/alive_rows.h"

namespace approx {

// Notes that all examples of `gradient` [N,C,H,W] outside `rows` are zero.
void note_alive_rows(const at::Tensor& gradient, AliveRows rows);

// The rows noted on a gradient; null: none. They live as long as the gradient.
const AliveRows* alive_rows(const at::Tensor& gradient);

}  // namespace approx
