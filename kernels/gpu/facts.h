// What CUDA knows of a GPU.
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

// Reads them of the `device`-th GPU as CUDA counts them. Throws Error(kDevice).
using ReadGpuFacts = GpuFacts (*)(int device);

// Null as long as the library of kernels is not open (kernels/library.h), which sets it.
inline ReadGpuFacts& gpu_facts_reader() {
  static ReadGpuFacts reader = nullptr;
  return reader;
}

}  // namespace approx
