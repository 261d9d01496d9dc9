// The layout of a file of tensors, with numbers and texts beside them as JSON: of checkpoints and
// of recorded operands (core/train/tensor_file.h makes LibTorch's tensors of it). Reading one
// copies and executes nothing; nothing that it claims is believed before it has been checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"

namespace approx {

// Of which kind a file is: how it begins, and what errors call it.
struct TensorFileKind {
  std::string_view magic;  // 8 bytes
  std::string_view what;   // "the checkpoint"
};

// A tensor as it lies in a file.
struct StoredTensor {
  std::string name;
  std::string type;  // f64, f32, f16, bf16, i64, i32, u8 or bool
  std::vector<int64_t> shape;
  std::string_view values;  // row-major, as they lie in memory: a part of the bytes they came from
};

struct StoredTensors {
  Json state = Json::object();
  std::vector<StoredTensor> tensors;
};

// In order, integers little endian:
//   8   the kind's magic
//   4   version of this layout, 1
//   32  SHA-256 of all that follows
//   8   length of the header in bytes
//   .   header: JSON {"state", "tensors": [{"name", "type", "shape", "bytes"}]}
//   .   the tensors' values, one behind the other
std::string tensor_bytes(const TensorFileKind& kind, const StoredTensors& content);

// The same back. Throws Error(kData) that begins with what the kind is called for bytes that are
// not exactly that: everything is checked before it is used, whatever the bytes claim.
StoredTensors parse_tensor_bytes(const TensorFileKind& kind, std::string_view bytes);

// Puts the checksum that `bytes` should have into them, where they are long enough: for tests that
// change a file and want what is behind the checksum to be looked at.
void sign_tensor_bytes(std::string& bytes);

}  // namespace approx
