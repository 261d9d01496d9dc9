// Operands of a training in files, one for each layer and recorded step: what `bench-kernel
// --recorded` times products on in place of random numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "kernels/operands.h"

namespace approx {

// The operands of one layer in one step of a training, as the layer had them.
struct RecordedOperands {
  // The training they were recorded in.
  std::string run_key;                   // 64 hexadecimal digits
  std::string network, dataset, method;  // full texts
  int64_t seed = 0;

  int64_t step = 0;  // counted from 0
  double epoch = 0;  // when that step is done

  int64_t position = 1;  // of the layer among all, in the order of the forward pass
  LayerInfo layer;       // with the sizes of that step
  // x [N,Ci,H,W], w [Co,Ci/groups,K,K], dy [N,Co,Ho,Wo], float, on the CPU, each with its channels
  // last or first as it lay there. dy is what the layer's backward pass began with: an
  // approximation of this layer is not in it, one of the layers above it is.
  Operands operands;
};

// Files of such operands end so.
inline constexpr const char* kOperandFileSuffix = ".operands";

// Bytes that a file may have: a gigabyte each for x and dy, and twice that for a large layer.
inline constexpr int64_t kLargestOperandFile = int64_t{4} << 30;

// Writes them into `folder`, which is made if it is missing, in place of a file of the same run,
// step and layer; returns its path. A process that dies on the way leaves no file of that name.
// The layout is that of core/train/tensor_file.h, begins with "APTXOPER" and holds "x", "w" and
// "dy". Throws Error(kData) with the file where it cannot be written, or would be too large.
std::string save_operands(const std::string& folder, const RecordedOperands& recorded);

// Throws Error(kData) that names the file where it is missing, too large, truncated or altered, or
// where its numbers do not belong together.
RecordedOperands load_operands(const std::string& path);

// The files of a folder by run, step and place of the layer. Throws Error(kData) where there is no
// such folder or none of them in it.
std::vector<std::string> operand_files(const std::string& folder);

}  // namespace approx
