// What a GPU runs, written so that a CPU can run it too. A kernel is a struct: its arguments, the
// grid that it wants, and what one thread does:
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
// A .cu file launches it (kernels/gpu/launch.cuh), and tests/gpu_checks runs the same text thread
// after thread, over shared memory that holds no number until somebody writes one, in several
// orders: a barrier that is missing, an index that is off and a read of what nobody wrote show on a
// machine without a GPU.
//
// `Thread` has
//   block_x(), block_y()          which block of the grid
//   blocks()                      how many there are along x
//   index(), threads()            which thread of the block, and of how many
//   shared<T>(offset)             the block's shared memory, from a byte on
//   barrier()                     waits until every thread of the block is there
//   any(bool)                     a barrier that says whether any thread said so
//   shuffle(value, lane)          the value of that lane of the warp
//   shuffle_down(value, lanes)    of the lane so many higher; beyond the last, one's own
//   ballot(bool)                  a bit for each of the warp's 32 lanes
//   add(int64_t* sum, int64_t)    in global memory, atomically
//   add(int32_t* count, int32_t)  in shared memory, atomically
//   last_to_come(uint32_t* arrivals, uint32_t blocks)
//                                 a barrier that says whether this block is the last of so many to
//                                 come here. What the others wrote before is there for
//                                 load_fresh() then. `arrivals` is 0 before the first comes, and 0
//                                 again after the last
//   copy<kBytes>(to, from)        begins to copy 8 or 16 bytes of global to shared memory; both
//                                 addresses are multiples of that
//   close_copies()                makes a group of the copies that this thread has begun since
//   wait_copies<kOpen>()          waits for this thread's groups, all but the last kOpen; a
//                                 barrier then shows them to the others
//   multiply, multiply_sparse, load_matrices    by all lanes of a warp: kernels/gpu/tensor_cores.h
// What both sides call, as grid() and the body do a helper, is constexpr: what is marked APPROX_GPU
// does not exist on the host of a GPU.
// Barriers must be met by all threads of a block, shuffles and ballots by all lanes of a warp. The
// number of threads is a multiple of kWarp.
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
// Before a loop: so many of its turns at a time, that their loads wait together.
#define APPROX_UNROLL(turns) APPROX_UNROLL_(unroll turns)

namespace approx {

constexpr int kWarp = 32;

struct Grid {
  int64_t x = 1, y = 1;  // blocks; y at most 65,535
  int threads = 256;     // of a block
  size_t shared = 0;     // bytes of a block's shared memory, at most 48 KiB
};

constexpr int64_t blocks_of(int64_t items, int64_t in_one) { return (items + in_one - 1) / in_one; }

// Blocks that many rows are cut into, by their number alone: the sums of blocks are the same
// whatever runs them.
constexpr int64_t kMostRowBlocks = 1024;
constexpr int64_t row_blocks(int64_t rows) {
  constexpr int64_t kLeastRows = 64;
  const int64_t blocks = blocks_of(rows, kLeastRows);
  return blocks < kMostRowBlocks ? blocks : kMostRowBlocks;
}

// As row_blocks, for kernels whose blocks leave sums: fewer. On an H200, which has 132
// multiprocessors, 528 blocks were the fastest of 264, 528 and 1024 for the sums of a norm.
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

// How many of the bits are set, and which is the lowest of them, of which there is one.
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

// Whether numbers from here on can be moved so many at a time.
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

// Of memory that nobody writes to while the kernel runs.
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

// Of memory that other blocks of the same launch have written, behind last_to_come(). (Not from a
// cache of this multiprocessor, which may be of before.)
template <typename T>
APPROX_GPU T load_fresh(const T* from) {
#if defined(__CUDA_ARCH__)
  return __ldcg(from);
#else
  return *from;
#endif
}

// Numbers of sixteen bits, which become floats; in `bits` as they lie in memory.
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

// Rounded to such numbers.
template <int kCount, typename Number>
requires(sizeof(Number) == sizeof(uint16_t)) APPROX_GPU
    void store(Number* to, const Floats<kCount>& values) {
  Halves<kCount> halves;
  for (int i = 0; i < kCount; ++i) halves.v[i] = Number(values.v[i]).bits;
  store_bits<kCount>(&to->bits, halves);
}

}  // namespace approx
