// Shared parts of kernels that keep a tile of sums in registers. Included once for each instruction
// set that Highway compiles for.
#if defined(APPROX_KERNELS_REGISTER_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef APPROX_KERNELS_REGISTER_TILE_INL_H_
#undef APPROX_KERNELS_REGISTER_TILE_INL_H_
#else
#define APPROX_KERNELS_REGISTER_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace approx {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vector = hn::Vec<Floats>;

// Rows of a tile of kTileVectors vectors. Its 12 or 16 sums, the vectors that they are multiplied
// with and one factor fit into 16 or 32 registers. With 32 registers, 12 rows are no faster than 8.
constexpr int64_t kTileVectors = 2;
#if HWY_TARGET <= HWY_AVX3 || HWY_ARCH_ARM_A64
constexpr int64_t kTileRows = 8;
#else
constexpr int64_t kTileRows = 6;
#endif

// Keeps a vector in a register. Compilers would read it again for each use.
HWY_INLINE void hold(Vector& v) {
#if HWY_ARCH_X86 && HWY_COMPILER_GCC
  asm("" : "+v"(v.raw));
#else
  (void)v;
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace approx
HWY_AFTER_NAMESPACE();

#endif
