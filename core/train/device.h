// Devices by name, and what a machine and its LibTorch can do.
#pragma once

#include <c10/core/Device.h>

#include <string>

#include "base/params.h"

namespace approx {

// "cpu" or "cuda". The CUDA half of LibTorch takes longer to load than everything else together, so
// it is opened here, when a run asks for it. Throws Error(kDevice) where it cannot be had, and
// Error(kUsage) for another name.
c10::Device open_device(const std::string& name);

// Returns once all work given to the device is done.
void synchronize_device(const c10::Device& device);

// Threads of LibTorch's operators, and an allocator that keeps freed memory instead of handing
// pages back to the system after every tensor.
void configure_threads(int64_t threads);

// Versions of LibTorch and its libraries, its CPU capability, the CUDA device if one is open.
Json library_environment();

}  // namespace approx
