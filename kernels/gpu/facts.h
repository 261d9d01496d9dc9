// Facts that CUDA reports about a GPU.
#pragma once

#include <cstdint>
#include <string>

namespace approx {

struct GpuFacts {
  std::string model;   // "NVIDIA H100 80GB HBM3"
  std::string uuid;    // "GPU-", then 32 hexadecimal digits in five groups
  std::string bus;     // its PCI address, "0000:3b:00.0"
  int capability = 0;  // 90: 9.0
  int64_t multiprocessors = 0, memory_bytes = 0, l2_bytes = 0;
  bool ecc = false;
};

// Reads the facts of the `device`-th GPU in CUDA's order. Throws Error(kDevice).
using ReadGpuFacts = GpuFacts (*)(int device);

// Null until the library of kernels is opened (kernels/library.h), which sets it.
inline ReadGpuFacts& gpu_facts_reader() {
  static ReadGpuFacts reader = nullptr;
  return reader;
}

}  // namespace approx
