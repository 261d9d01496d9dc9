// The layout of a file of tensors, with numbers and texts beside them as JSON. Checkpoints and
// recorded operands use it; core/train/tensor_file.h converts to LibTorch's tensors. Reading a file
// copies and executes nothing. Every claim of a file is checked before it is used.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"

namespace approx {

// The kind of a file: its first bytes, and its name in errors.
struct TensorFileKind {
  std::string_view magic;  // 8 bytes
  std::string_view what;   // "the checkpoint"
};

// A tensor as it lies in a file.
struct StoredTensor {
  std::string name;
  std::string type;  // f64, f32, f16, bf16, i64, i32, u8 or bool
  std::vector<int64_t> shape;
  std::string_view values;  // row-major, as in memory: a part of the bytes that were parsed
};

struct StoredTensors {
  Json state = Json::object();
  std::vector<StoredTensor> tensors;
};

// The bytes of a file. In order, integers little endian:
//   8   the kind's magic
//   4   version of this layout, 1
//   32  SHA-256 of all following bytes
//   8   length of the header in bytes
//   .   header: JSON {"state", "tensors": [{"name", "type", "shape", "bytes"}]}
//   .   the tensors' values, without gaps
std::string tensor_bytes(const TensorFileKind& kind, const StoredTensors& content);

// Reads what tensor_bytes() wrote. Throws Error(kData) that begins with `kind.what` for bytes that
// are not exactly such a file. Everything is checked before it is used, whatever the bytes claim.
StoredTensors parse_tensor_bytes(const TensorFileKind& kind, std::string_view bytes);

// Writes the right checksum into `bytes`, if they are long enough. For tests that change a file and
// check the errors behind the checksum.
void sign_tensor_bytes(std::string& bytes);

}  // namespace approx
