// Tensors in a file, with numbers and texts beside them as JSON: the layout of checkpoints and of
// recorded operands. Reading one copies bytes and executes nothing; nothing that it claims is
// believed before it has been checked.
#pragma once

#include <ATen/core/Tensor.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/params.h"

namespace approx {

// Of which kind a file is: how it begins, and what errors call it.
struct TensorFileKind {
  std::string_view magic;  // 8 bytes
  std::string_view what;   // "the checkpoint"
};

// What is in one. Both in memory.
struct TensorContent {
  Json state = Json::object();
  std::vector<std::pair<std::string, at::Tensor>> tensors;  // by name
};

// Content as bytes. In order, integers little endian:
//   8   the kind's magic
//   4   version of this layout, 1
//   32  SHA-256 of all that follows
//   8   length of the header in bytes
//   .   header: JSON {"state", "tensors": [{"name", "type", "shape", "bytes"}]}
//   .   the tensors' values, one behind the other, in row-major order
std::string encode_tensors(const TensorFileKind& kind, const TensorContent& content);

// Throws Error(kData) for bytes that are not exactly that: everything is checked before it is used,
// whatever the bytes claim.
TensorContent decode_tensors(const TensorFileKind& kind, std::string_view bytes);

}  // namespace approx
