// Devices, and what a machine and its LibTorch can do.
#pragma once

#include <c10/core/Device.h>

#include "base/params.h"
#include "core/config/run_config.h"

namespace approx {

// The `index`-th device of that kind. The CUDA half of LibTorch takes longer to load than
// everything else together, so it is opened here, when a run asks for it. Nobody may ask LibTorch
// about CUDA in this process before: it would say that there is none ever after. Throws
// Error(kDevice) where it cannot be had, Error(kInternal) where somebody asked.
c10::Device open_device(DeviceKind kind, int64_t index = 0);

// Lets a process of several ranks see only the GPU that it computes on, which then has index 0
// (core/parallel/gpu_of_rank.h). To be called before open_device. Does nothing where no launcher
// says which rank of its machine this is. Throws Error(kDevice).
void take_gpu_of_rank();

// On a GPU: lets layers take those of cuDNN's engines that the file of the environment variable
// APPROXTRAIN_CUDNN_CHOICES names as faster than LibTorch's convolution (kernels/dense/cudnn.h).
// Returns whether it is set. Throws Error(kUsage).
bool take_cudnn_choices(const c10::Device& device);

// Returns once all work given to the device is done.
void synchronize_device(const c10::Device& device);

// Threads of LibTorch's operators, and an allocator that keeps freed memory instead of handing
// pages back to the system after every tensor.
void configure_threads(int64_t threads);

// Versions of LibTorch and its libraries, its CPU capability; of the GPU that is open, if one is,
// `cuda` and `cudnn`, their versions, `gpu_model`, `gpu` (core/train/gpu_monitor.h) and
// `gpu_clocks`, those of this moment, and `cudnn_choices`, the SHA-256 of the file of engines that
// layers go by.
Json library_environment();

}  // namespace approx
