// GPU work besides the variants of plans: pruning of gradients, draws. A .cu file registers it by
// its arguments:
//   REGISTER_LAUNCH(PeakArgs<float>, launch_peak<float>)
// Code with tensors on a GPU calls launch_of<PeakArgs<float>>(), which is null until the library of
// kernels is opened (kernels/library.h).
#pragma once

#include "base/registry.h"

namespace approx {

// Starts the work on the current GPU in `stream` (a cudaStream_t), and waits for nothing. The
// pointers of `args` are to memory of that GPU.
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
