// What the driver says of a GPU while it works: its clocks, what holds it back, its energy. By
// NVML, the driver's own library, which is there or not: opened by name, never linked.
#pragma once

#include <c10/core/Device.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/params.h"

namespace approx {

class GpuMonitor {
 public:
  // Of the GPU with that PCI address, "0000:3b:00.0"; null where the driver has no such library or
  // does not know the GPU. `library`: tests open one of their own.
  static std::unique_ptr<GpuMonitor> open(const std::string& bus,
                                          const std::string& library = "libnvidia-ml.so.1");
  // How many GPUs the driver has for this process, whatever CUDA_VISIBLE_DEVICES says; nullopt
  // where it does not tell.
  static std::optional<int64_t> count(const std::string& library = "libnvidia-ml.so.1");

  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;

  // "580.65.06", "" where it is not told.
  std::string driver() const;

  // What it may reach at most: sm_mhz, memory_mhz, power_w. What is not told is left out.
  Json limits() const;

  // Now: sm_mhz, memory_mhz.
  Json clocks() const;

  // Why it is slower now than it would be by itself: "heat", "the power supply". That it is held to
  // its power limit is no such reason: under load that is its normal state.
  std::vector<std::string> slowed_by() const;

  // Joules since the driver was loaded; nullopt where they cannot be read.
  std::optional<double> joules() const;

 private:
  struct Library;
  explicit GpuMonitor(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

// That of a device; null on a CPU, and where the library of kernels that knows a GPU's address is
// not there.
std::unique_ptr<GpuMonitor> monitor_of(const c10::Device& device);

// What decides how fast a GPU is: `model`, `uuid`, `capability`, `multiprocessors`, `memory_bytes`,
// `l2_bytes`, `ecc`, `driver`, `limits`; null on a CPU and where it cannot be told.
Json gpu_description(const c10::Device& device);

}  // namespace approx
