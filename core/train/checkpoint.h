// Checkpoints: the state of a training in a file, from which another process resumes bit for bit.
//
// A folder holds the newest checkpoint and the one before. Writing is atomic: a new file beside
// them is written, synced to disk and renamed. A process that dies at any moment therefore leaves
// at least one whole checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/train/tensor_file.h"

namespace approx {

// The saved state: numbers and texts as JSON, tensors by name.
struct Checkpoint : TensorContent {
  void add(const std::string& name, const at::Tensor& tensor) {
    tensors.emplace_back(name, tensor);
  }

  // The tensor of that name. Throws Error(kData) if there is none.
  const at::Tensor& tensor(const std::string& name) const;
  bool has(const std::string& name) const;

  // Copies the saved tensor into `target`. Throws Error(kData) if there is none of that name, shape
  // and type.
  void restore(const std::string& name, const at::Tensor& target) const;
};

// A checkpoint as bytes (core/train/tensor_file.h), which begin with "APTXCKPT".
std::string encode(const Checkpoint& checkpoint);

// Throws Error(kData) for bytes that are no checkpoint.
Checkpoint decode(std::string_view bytes);

// Makes `checkpoint` the newest one in `folder`, which is made if it is missing. Throws
// Error(kData) with the file and the bytes if it cannot be written. The older ones are then
// unchanged.
void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint);

// The newest whole checkpoint of `folder`; nothing if there is none. A damaged one is renamed, so
// that it never replaces a whole one, and reported to `notice`.
std::optional<Checkpoint> load_checkpoint(const std::string& folder,
                                          const std::function<void(const std::string&)>& notice);

}  // namespace approx
