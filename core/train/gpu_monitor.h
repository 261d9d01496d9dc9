// Reads from the driver a GPU's clocks, the reasons that hold it back, and its energy. It uses
// NVML, the driver's own library. That is opened by name and never linked, as it may be missing.
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
  // Opens the GPU with that PCI address, "0000:3b:00.0". Null if there is no such library or the
  // driver does not know the GPU. `library`: tests open one of their own.
  static std::unique_ptr<GpuMonitor> open(const std::string& bus,
                                          const std::string& library = "libnvidia-ml.so.1");
  // The number of GPUs that the driver has for this process, whatever CUDA_VISIBLE_DEVICES says;
  // nullopt if the driver does not tell.
  static std::optional<int64_t> count(const std::string& library = "libnvidia-ml.so.1");

  ~GpuMonitor();
  GpuMonitor(const GpuMonitor&) = delete;

  // "580.65.06"; "" if the driver does not tell.
  std::string driver() const;

  // The GPU's limits: sm_mhz, memory_mhz, power_w. Unknown ones are left out.
  Json limits() const;

  // The clocks at this moment: sm_mhz, memory_mhz.
  Json clocks() const;

  // The clock of the multiprocessors at this moment; nullopt if it cannot be read.
  std::optional<double> sm_mhz() const;

  // Why the GPU is slower now than it could be: "heat", "the power supply". Its power limit is not
  // such a reason: under load a GPU normally reaches it.
  std::vector<std::string> slowed_by() const;

  // Joules since the driver was loaded; nullopt if they cannot be read.
  std::optional<double> joules() const;

 private:
  struct Library;
  explicit GpuMonitor(std::unique_ptr<Library> library);
  std::unique_ptr<Library> library_;
};

// The monitor of a device. Null on a CPU, and if the library of kernels, which knows a GPU's
// address, is missing.
std::unique_ptr<GpuMonitor> monitor_of(const c10::Device& device);

// The facts that decide how fast a GPU is: `model`, `uuid`, `capability`, `multiprocessors`,
// `memory_bytes`, `l2_bytes`, `ecc`, `driver`, `limits`. Null on a CPU and if they are not known.
Json gpu_description(const c10::Device& device);

}  // namespace approx
