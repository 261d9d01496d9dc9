// Kernels that expose the operations of tensor cores and their loads. Tests compare them with plain
// loops, on a GPU and on a CPU (kernels/gpu/tensor_cores.h).
#pragma once

#include "kernels/gpu/kernel.h"
#include "kernels/gpu/tensor_cores.h"

namespace approx {

// A sparse product for each tile. Registers of the lanes are [tiles,32].
template <typename Number>
struct SparseTilesArgs {
  int64_t tiles = 0;
  int selector = 0;
  const Registers* a = nullptr;
  const Registers* b = nullptr;
  const uint32_t* indices = nullptr;
  Floats<4>* sum = nullptr;  // result, added to
};

template <typename Number>
struct SparseTiles {
  static constexpr int kMostThreads = kWarp;
  SparseTilesArgs<Number> args;

  Grid grid() const { return {.x = args.tiles, .threads = kWarp}; }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t at = thread.block_x() * kWarp + thread.index();
    Floats<4> sum = args.sum[at];
    if (args.selector == 0) {
      thread.template multiply_sparse<Number, 0>(args.a[at], args.b[at], args.indices[at], sum);
    } else {
      thread.template multiply_sparse<Number, 1>(args.a[at], args.b[at], args.indices[at], sum);
    }
    args.sum[at] = sum;
  }
};

// A product for each tile. Registers of the lanes are [tiles,32]; for b, only the first two
// registers.
template <typename Number>
struct DenseTilesArgs {
  int64_t tiles = 0;
  const Registers* a = nullptr;
  const Registers* b = nullptr;
  Floats<4>* sum = nullptr;  // result, added to
};

template <typename Number>
struct DenseTiles {
  static constexpr int kMostThreads = kWarp;
  DenseTilesArgs<Number> args;

  Grid grid() const { return {.x = args.tiles, .threads = kWarp}; }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int64_t at = thread.block_x() * kWarp + thread.index();
    Floats<4> sum = args.sum[at];
    thread.template multiply<Number>(args.a[at], args.b[at].v[0], args.b[at].v[1], sum);
    args.sum[at] = sum;
  }
};

// Four matrices [8,8] of sixteen bits each. They are copied to shared memory and loaded from there,
// both plain and transposed.
struct LoadedMatricesArgs {
  const uint16_t* matrices = nullptr;  // [4,8,8], aligned to sixteen bytes
  Registers* plain = nullptr;          // [32]
  Registers* transposed = nullptr;
};

struct LoadedMatrices {
  static constexpr int kMostThreads = kWarp;
  LoadedMatricesArgs args;

  Grid grid() const { return {.threads = kWarp, .shared = size_t{kWarp} * 8 * sizeof(uint16_t)}; }

  template <typename Thread>
  APPROX_GPU void operator()(Thread& thread) const {
    const int lane = thread.index();
    uint16_t* row = thread.template shared<uint16_t>() + lane * 8;
    thread.template copy<16>(row, args.matrices + lane * 8);
    thread.close_copies();
    thread.template wait_copies<0>();
    thread.barrier();
    args.plain[lane] = thread.template load_matrices<false>(row);
    args.transposed[lane] = thread.template load_matrices<true>(row);
  }
};

}  // namespace approx
