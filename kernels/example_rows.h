// Whole examples of a tensor [N,C,H,W]: rows along the first dimension, channels last in memory.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace approx {

// The examples `index` of a tensor, in this order, channels last: [k,C,H,W] for `index` [k] int64.
at::Tensor take_examples(const at::Tensor& tensor, const at::Tensor& index);

// The opposite: `part` [k,C,H,W] among zeros, channels last: [examples,C,H,W]. `index` is ascending
// and has no example twice; it may be empty.
at::Tensor put_examples(const at::Tensor& part, const at::Tensor& index, int64_t examples);

// The examples that have a number other than zero, [k] int64, ascending. A NaN is one. The host
// waits for k.
at::Tensor nonzero_examples(const at::Tensor& tensor);

}  // namespace approx
