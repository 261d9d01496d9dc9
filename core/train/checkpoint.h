// Checkpoints: a training as it stands, in a file from which another process goes on bit for bit.
//
// A folder holds the newest one and the one before it. Writing is atomic: a new file beside them is
// written, brought to disk and renamed, so that a process that dies anywhere on the way leaves at
// least one whole checkpoint.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "core/train/tensor_file.h"

namespace approx {

// What is saved: numbers and texts as JSON, tensors by name.
struct Checkpoint : TensorContent {
  void add(const std::string& name, const at::Tensor& tensor) {
    tensors.emplace_back(name, tensor);
  }

  // The tensor of that name. Throws Error(kData) when there is none.
  const at::Tensor& tensor(const std::string& name) const;
  bool has(const std::string& name) const;

  // Writes the saved tensor into `target`. Throws Error(kData) when there is none of that name,
  // shape and type.
  void restore(const std::string& name, const at::Tensor& target) const;
};

// A checkpoint as bytes (core/train/tensor_file.h), which begin with "APTXCKPT".
std::string encode(const Checkpoint& checkpoint);

// Throws Error(kData) for bytes that are none.
Checkpoint decode(std::string_view bytes);

// Makes `checkpoint` the newest one in `folder`, which is made if it is missing. Throws
// Error(kData) when it cannot be written, with the file and the bytes; the older ones are untouched
// then.
void save_checkpoint(const std::string& folder, const Checkpoint& checkpoint);

// The newest whole checkpoint of `folder`; nothing when there is none. One that is damaged is put
// aside under another name, so that it never takes the place of a whole one; `notice` is told.
std::optional<Checkpoint> load_checkpoint(const std::string& folder,
                                          const std::function<void(const std::string&)>& notice);

}  // namespace approx
