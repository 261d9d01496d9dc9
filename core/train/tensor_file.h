// Tensors in a file, with numbers and texts beside them as JSON: the content of checkpoints and of
// recorded operands. How it lies there, and what is checked of it, is in core/data/tensor_bytes.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "core/data/tensor_bytes.h"

namespace approx {

// What is in one. Both in memory.
struct TensorContent {
  Json state = Json::object();
  std::vector<std::pair<std::string, at::Tensor>> tensors;  // by name
};

// Content as bytes.
std::string encode_tensors(const TensorFileKind& kind, const TensorContent& content);

// The same back. Throws Error(kData) as parse_tensor_bytes() does.
TensorContent decode_tensors(const TensorFileKind& kind, std::string_view bytes);

}  // namespace approx
