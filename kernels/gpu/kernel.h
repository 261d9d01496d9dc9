// GPU code that a CPU can run too. A kernel is a struct with its arguments, the grid that it needs,
// and the work of one thread:
//
//   struct Halve {
//     static constexpr int kMostThreads = 256;
//     const float* in;  // [count]
//     float* out;
//     int64_t count;
//
//     Grid grid() const { return {.x = blocks_of(count, 256), .threads = 256}; }
//     template <typename Thread>
//     APPROX_GPU void operator()(Thread& thread) const {
//       const int64_t i = thread.block_x() * thread.threads() + thread.index();
//       if (i < count) out[i] = in[i] / 2;
//     }
//   };
//
// A .cu file launches it (kernels/gpu/launch.cuh). The tests in tests/gpu_checks run the same code
// thread after thread in several orders, with shared memory that is invalid until written. So a
// missing barrier, a wrong index or a read of unwritten memory is found without a GPU.
//
// `Thread` has
//   block_x(), block_y()          which block of the grid
//   blocks()                      how many there are along x
//   index(), threads()            which thread of the block, and of how many
//   shared<T>(offset)             the block's shared memory, from a byte on
//   barrier()                     waits until every thread of the block is there
//   any(bool)                     a barrier that returns whether it is true for any thread
//   shuffle(value, lane)          the value of that lane of the warp
//   shuffle_down(value, lanes)    the value of the lane `lanes` higher; beyond the last, its own
//   ballot(bool)                  a bit for each of the warp's 32 lanes
//   add(int64_t* sum, int64_t)    in global memory, atomically
//   add(int32_t* count, int32_t)  in shared memory, atomically
//   last_to_come(uint32_t* arrivals, uint32_t blocks)
//                                 a barrier that says whether this block is the last of `blocks`
//                                 to come here. Then load_fresh() reads what the others wrote
//                                 before. `arrivals` is 0 before the first, and after the last
//   copy<kBytes>(to, from)        begins to copy 8 or 16 bytes of global to shared memory; both
//                                 addresses are multiples of that
//   close_copies()                makes a group of this thread's copies since the last group
//   wait_copies<kOpen>()          waits for this thread's groups, except the last kOpen; other
//                                 threads see the copies after a barrier
//   multiply, multiply_sparse, load_matrices    by all lanes of a warp: kernels/gpu/tensor_cores.h
// Functions that both sides call, as grid() and the body call a helper, are constexpr. A function
// marked APPROX_GPU does not exist on the host of a GPU. All threads of a block must meet a
// barrier, and all lanes of a warp a shuffle or a ballot. The number of threads is a multiple of
// kWarp.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#if defined(__CUDACC__)
#define APPROX_GPU __device__ __forceinline__
#define APPROX_UNROLL_(text) _Pragma(#text)
#else
#define APPROX_GPU inline
#define APPROX_UNROLL_(text)
#endif
// Put it before a loop: unrolls this many turns, so that their loads wait together.
#define APPROX_UNROLL(turns) APPROX_UNROLL_(unroll turns)

namespace approx {

constexpr int kWarp = 32;

struct Grid {
  int64_t x = 1, y = 1;  // blocks; y at most 65,535
  int threads = 256;     // of a block
  size_t shared = 0;     // bytes of a block's shared memory, at most 48 KiB
};

constexpr int64_t blocks_of(int64_t items, int64_t in_one) { return (items + in_one - 1) / in_one; }

// The number of blocks into which rows are divided. It depends only on their number, so that the
// sums of blocks are equal on any device.
constexpr int64_t kMostRowBlocks = 1024;
constexpr int64_t row_blocks(int64_t rows) {
  constexpr int64_t kLeastRows = 64;
  const int64_t blocks = blocks_of(rows, kLeastRows);
  return blocks < kMostRowBlocks ? blocks : kMostRowBlocks;
}

// As row_blocks, for kernels whose blocks leave sums, with fewer blocks. For the sums of a norm on
// an H200 (132 multiprocessors), 528 blocks were the fastest of 264, 528 and 1024.
constexpr int64_t sum_blocks(int64_t rows) {
  constexpr int64_t kMostBlocks = 528;
  const int64_t blocks = row_blocks(rows);
  return blocks < kMostBlocks ? blocks : kMostBlocks;
}

// The least power of two that is not below n.
constexpr int64_t power_of_two_from(int64_t n) {
  int64_t power = 1;
  while (power < n) power *= 2;
  return power;
}

APPROX_GPU uint32_t bits_of(float value) {
#if defined(__CUDA_ARCH__)
  return __float_as_uint(value);
#else
  return std::bit_cast<uint32_t>(value);
#endif
}

APPROX_GPU uint64_t bits_of(double value) {
#if defined(__CUDA_ARCH__)
  return static_cast<uint64_t>(__double_as_longlong(value));
#else
  return std::bit_cast<uint64_t>(value);
#endif
}

// The number of set bits, and the position of the lowest set bit; there must be one.
APPROX_GPU int bits_set(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __popc(bits);
#else
  return std::popcount(bits);
#endif
}
APPROX_GPU int lowest_bit(uint32_t bits) {
#if defined(__CUDA_ARCH__)
  return __ffs(static_cast<int>(bits)) - 1;
#else
  return std::countr_zero(bits);
#endif
}

// Whether the numbers from `from` on can be moved `count` at a time.
template <typename Number>
bool lies_by(int64_t count, const Number* from) {
  return reinterpret_cast<uintptr_t>(from) % (static_cast<size_t>(count) * sizeof(Number)) == 0;
}

// Neighbouring numbers that one instruction moves. Their address is a multiple of their size.
template <int kCount>
struct alignas(kCount * sizeof(float)) Floats {
  float v[kCount];
};
template <int kCount>
struct alignas(kCount * sizeof(uint16_t)) Halves {
  uint16_t v[kCount];
};

template <int kCount>
APPROX_GPU Floats<kCount> load(const float* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (kCount == 4) {
    const float4 four = *reinterpret_cast<const float4*>(from);
    return {{four.x, four.y, four.z, four.w}};
  }
#endif
  return *reinterpret_cast<const Floats<kCount>*>(from);
}

// Loads from memory that nobody writes to while the kernel runs.
template <int kCount>
APPROX_GPU Floats<kCount> load_constant(const float* from) {
#if defined(__CUDA_ARCH__)
  if constexpr (kCount == 4) {
    const float4 four = __ldg(reinterpret_cast<const float4*>(from));
    return {{four.x, four.y, four.z, four.w}};
  } else {
    static_assert(kCount == 1);
    return {{__ldg(from)}};
  }
#else
  return load<kCount>(from);
#endif
}

// Loads from memory that other blocks of the launch have written, after last_to_come(). (It
// bypasses the cache of this multiprocessor, which may hold old values.)
template <typename T>
APPROX_GPU T load_fresh(const T* from) {
#if defined(__CUDA_ARCH__)
  return __ldcg(from);
#else
  return *from;
#endif
}

// Loads numbers of sixteen bits from `bits`, not converted; load() makes floats of them.
template <int kCount>
APPROX_GPU Halves<kCount> load_bits(const uint16_t* bits) {
#if defined(__CUDA_ARCH__)
  if constexpr (kCount == 4) {
    const ushort4 four = *reinterpret_cast<const ushort4*>(bits);
    return {{four.x, four.y, four.z, four.w}};
  }
  if constexpr (kCount == 8) {
    const uint4 words = *reinterpret_cast<const uint4*>(bits);
    return std::bit_cast<Halves<8>>(words);
  }
#endif
  return *reinterpret_cast<const Halves<kCount>*>(bits);
}

template <int kCount, typename Number>
requires(sizeof(Number) == sizeof(uint16_t)) APPROX_GPU Floats<kCount> load(const Number* from) {
  const auto halves = load_bits<kCount>(&from->bits);
  Floats<kCount> values;
  for (int i = 0; i < kCount; ++i) {
    Number number;
    number.bits = halves.v[i];
    values.v[i] = static_cast<float>(number);
  }
  return values;
}

template <int kCount, typename Number>
requires(sizeof(Number) ==
         sizeof(uint16_t)) APPROX_GPU Floats<kCount> load_constant(const Number* from) {
  return load<kCount>(from);
}

template <int kCount>
APPROX_GPU void store(float* to, const Floats<kCount>& values) {
#if defined(__CUDA_ARCH__)
  if constexpr (kCount == 4) {
    *reinterpret_cast<float4*>(to) =
        make_float4(values.v[0], values.v[1], values.v[2], values.v[3]);
    return;
  }
#endif
  *reinterpret_cast<Floats<kCount>*>(to) = values;
}

template <int kCount>
APPROX_GPU void store_bits(uint16_t* to, const Halves<kCount>& halves) {
#if defined(__CUDA_ARCH__)
  if constexpr (kCount == 4) {
    *reinterpret_cast<ushort4*>(to) =
        make_ushort4(halves.v[0], halves.v[1], halves.v[2], halves.v[3]);
    return;
  }
  if constexpr (kCount == 8) {
    *reinterpret_cast<uint4*>(to) = std::bit_cast<uint4>(halves);
    return;
  }
#endif
  *reinterpret_cast<Halves<kCount>*>(to) = halves;
}

// Stores floats, rounded to numbers of sixteen bits.
template <int kCount, typename Number>
requires(sizeof(Number) == sizeof(uint16_t)) APPROX_GPU
    void store(Number* to, const Floats<kCount>& values) {
  Halves<kCount> halves;
  for (int i = 0; i < kCount; ++i) halves.v[i] = Number(values.v[i]).bits;
  store_bits<kCount>(&to->bits, halves);
}

}  // namespace approx
