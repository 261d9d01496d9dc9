// Operands of a training in files, one for each layer and recorded step. `bench-kernel --recorded`
// times products on them, in place of random numbers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "kernels/operands.h"

namespace approx {

// The operands of one layer in one step of a training.
struct RecordedOperands {
  // The training that they were recorded in.
  std::string run_key;                   // 64 hexadecimal digits
  std::string network, dataset, method;  // full texts
  int64_t seed = 0;

  int64_t step = 0;  // counted from 0
  double epoch = 0;  // at the end of that step

  int64_t position = 1;  // of the layer in the forward pass, from 1
  LayerInfo layer;       // with the sizes of that step
  // x [N,Ci,H,W], w [Co,Ci/groups,K,K], dy [N,Co,Ho,Wo], float, on the CPU. Each has its channels
  // last or first, as in the training. dy is the input of the layer's backward pass. It includes
  // approximations of later layers, but not of this layer.
  Operands operands;
};

// The suffix of such files.
inline constexpr const char* kOperandFileSuffix = ".operands";

// The largest size of a file: x and dy of a large layer may take two gigabytes each.
inline constexpr int64_t kLargestOperandFile = int64_t{4} << 30;

// Writes the operands into `folder`, which is made if it is missing, and returns the file's path.
// Replaces a file of the same run, step and layer. A process that dies while writing leaves no file
// of that name. core/train/tensor_file.h describes the layout. A file begins with "APTXOPER" and
// holds "x", "w" and "dy". Throws Error(kData) with the file if it cannot be written or would be
// too large.
std::string save_operands(const std::string& folder, const RecordedOperands& recorded);

// Reads a file. Throws Error(kData) that names the file if it is missing, too large, truncated or
// altered, or if its numbers do not belong together.
RecordedOperands load_operands(const std::string& path);

// The files of a folder, sorted by run, step and place of the layer. Throws Error(kData) if there
// is no such folder or no such file in it.
std::vector<std::string> operand_files(const std::string& folder);

}  // namespace approx
