// What the lanes of a warp compute together with the tensor cores of a GPU, in plain loops: the
// definitions of kernels/gpu/tensor_cores.h.
#pragma once

#include <array>
#include <cstdint>

#include "kernels/gpu/tensor_cores.h"

namespace approx {

// What each lane brings; a lane's result is left there too.
using WarpLanes = std::array<void*, kWarp>;
// Returns what is wrong, or null.
using WarpWork = const char* (*)(const WarpLanes& lanes);

struct MatrixRow {
  const uint16_t* row;
  bool transposed;
  Registers loaded;
};
const char* load_matrices_of_warp(const WarpLanes& lanes);

struct DenseFactors {
  Registers a;
  uint32_t b[2];
  bool is_bfloat16;  // else float16
  Floats<4> sum;
};
const char* multiply_of_warp(const WarpLanes& lanes);

struct SparseFactors {
  Registers a, b;
  uint32_t indices;
  int selector;
  bool is_bfloat16;  // else float16
  Floats<4> sum;
};
const char* multiply_sparse_of_warp(const WarpLanes& lanes);

}  // namespace approx
