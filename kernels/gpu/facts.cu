#include <cuda_runtime.h>

#include "base/error.h"
#include "kernels/gpu/facts.h"

namespace approx {
namespace {

void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  throw Error(ErrorKind::kDevice,
              fmt::format("what GPU this is cannot be told: {}", cudaGetErrorString(error)));
}

std::string uuid_text(const cudaUUID_t& uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    if (i == 0 || i == 4 || i == 6 || i == 8 || i == 10) text += '-';
    text += fmt::format("{:02x}", static_cast<unsigned>(uuid.bytes[i]) & 0xFFu);
  }
  return text;
}

GpuFacts facts_of(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device));
  char bus[32] = {};
  check(cudaDeviceGetPCIBusId(bus, sizeof bus, device));
  return {.model = properties.name,
          .uuid = uuid_text(properties.uuid),
          .bus = bus,
          .capability = 10 * properties.major + properties.minor,
          .multiprocessors = properties.multiProcessorCount,
          .memory_bytes = static_cast<int64_t>(properties.totalGlobalMem),
          .l2_bytes = properties.l2CacheSize,
          .ecc = properties.ECCEnabled != 0};
}

[[maybe_unused]] const bool kSet = (gpu_facts_reader() = facts_of, true);

}  // namespace
}  // namespace approx
