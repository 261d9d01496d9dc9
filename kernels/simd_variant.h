// How a loop is registered that Highway compiles once for each instruction set. At the end of its
// file *_simd.cpp, in the part that is compiled once:
//
//   #if HWY_ONCE
//   namespace approx {
//   namespace {
//
//   REGISTER_SIMD_KERNEL(PrunedDY, "sparse_rows", sparse_data_gradient)
//       .computes({Product::kDataGradient})
//       .rank(0);
//
// Each call takes the one for the machine's instruction set. It is on({Hardware::kCpu}).
#pragma once

#include <hwy/highway.h>

#include "kernels/variant.h"

namespace approx {

// `call` as a function with the parameters of `like`.
template <typename... Parameters, typename Call>
constexpr auto as_function(void (* /*like*/)(Parameters...), Call call) -> void (*)(Parameters...) {
  return call;
}

}  // namespace approx

#define REGISTER_SIMD_KERNEL(PLAN, NAME, FUNCTION)                       \
  HWY_EXPORT(FUNCTION);                                                  \
  REGISTER_KERNEL(PLAN, NAME,                                            \
                  ::approx::as_function(&HWY_STATIC_DISPATCH(FUNCTION),  \
                                        [](auto... args) {               \
                                          HWY_DYNAMIC_DISPATCH(FUNCTION) \
                                          (args...);                     \
                                        }))                              \
      .on({::approx::Hardware::kCpu})
