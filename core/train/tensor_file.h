// Tensors in a file, with numbers and texts beside them as JSON: the content of checkpoints and of
// recorded operands. The layout and its checks are in core/data/tensor_bytes.h.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"
#include "core/data/tensor_bytes.h"

namespace approx {

// The content of one file, in memory.
struct TensorContent {
  Json state = Json::object();
  std::vector<std::pair<std::string, at::Tensor>> tensors;  // by name
};

// The bytes of a file with this content.
std::string encode_tensors(const TensorFileKind& kind, const TensorContent& content);

// The content of a file's bytes. Throws Error(kData) as parse_tensor_bytes() does.
TensorContent decode_tensors(const TensorFileKind& kind, std::string_view bytes);

}  // namespace approx
