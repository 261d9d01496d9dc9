// Devices, and the capabilities of a machine and its LibTorch.
#pragma once

#include <c10/core/Device.h>

#include "base/params.h"
#include "core/config/run_config.h"

namespace approx {

// Opens the `index`-th device of that kind. The CUDA half of LibTorch takes longer to load than
// everything else together. It is therefore loaded here, when a run asks for it. No code in this
// process may ask LibTorch about CUDA before: LibTorch would then always say that there is none.
// Throws Error(kDevice) if the device is not available, and Error(kInternal) if some code asked
// before.
c10::Device open_device(DeviceKind kind, int64_t index = 0);

// Lets a process of several ranks see only the GPU that it computes on, which then has index 0
// (core/parallel/gpu_of_rank.h). Call it before open_device. Does nothing if no launcher says which
// rank of its machine this is. Throws Error(kDevice).
void take_gpu_of_rank();

// On a GPU: reads the file in the environment variable APPROXTRAIN_CUDNN_CHOICES. It names the
// cuDNN engines that are faster than LibTorch's convolution (kernels/dense/cudnn.h), and layers
// then use them. Returns whether the variable is set. Throws Error(kUsage).
bool take_cudnn_choices(const c10::Device& device);

// Returns once all work given to the device is done.
void synchronize_device(const c10::Device& device);

// Sets the threads of LibTorch's operators. Also keeps the allocator from returning pages to the
// system after every tensor.
void configure_threads(int64_t threads);

// Versions of LibTorch and its libraries, and its CPU capability. If a GPU is open, also:
// - `cuda` and `cudnn`, their versions;
// - `gpu_model`, and `gpu` (core/train/gpu_monitor.h);
// - `gpu_clocks`, at this moment;
// - `cudnn_choices`, the SHA-256 of the file of engines that layers use.
Json library_environment();

}  // namespace approx
