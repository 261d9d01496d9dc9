// What a GPU runs beside the variants of plans: choosing what stays of a gradient, draws. A .cu
// file registers it by the arguments that it takes:
//
//   REGISTER_LAUNCH(PeakArgs<float>, launch_peak<float>)
//
// and whoever has tensors there asks launch_of<PeakArgs<float>>(), which is null as long as the
// library of kernels is not open (kernels/library.h).
#pragma once

#include "base/registry.h"

namespace approx {

// Starts the work on the GPU that is current and in its `stream` (a cudaStream_t), and waits for
// nothing. The pointers of `args` are of that GPU's memory.
template <typename Args>
using LaunchOf = void (*)(const Args& args, void* stream);

template <typename Args>
LaunchOf<Args>& launch_of() {
  static LaunchOf<Args> launch = nullptr;
  return launch;
}

}  // namespace approx

#define REGISTER_LAUNCH(ARGS, FUNCTION)                       \
  [[maybe_unused]] static const bool APPROX_UNIQUE(launch_) = \
      (::approx::launch_of<ARGS>() = FUNCTION, true)
