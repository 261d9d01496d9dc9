// The energy of a training, if the machine counts it: by RAPL for the processors (Linux powercap),
// by NVML for a GPU. Whole devices are counted, with all other work on them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/train/gpu_monitor.h"

namespace approx {

// The counters of one machine. Reading them costs a few file reads. Without readable counters it
// returns nullopt and costs nothing.
class EnergyMeter {
 public:
  // `gpu`: also reads its counter; null: none. `powercap`: the kernel's folder of RAPL; tests pass
  // files of their own.
  explicit EnergyMeter(std::unique_ptr<GpuMonitor> gpu = nullptr,
                       const std::string& powercap = "/sys/class/powercap");

  // Joules since the last call or construction, of the processors' packages and of the GPU; nullopt
  // if they cannot be read. RAPL's counters wrap around after tens of minutes under load. One wrap
  // between two calls is handled.
  std::optional<double> take_cpu_joules();
  std::optional<double> take_gpu_joules();

 private:
  struct Zone {
    std::string file;
    uint64_t range = 0, last = 0;  // microjoules; range: the value at which it wraps
  };

  std::vector<Zone> zones_;
  std::unique_ptr<GpuMonitor> gpu_;
  std::optional<double> gpu_last_;  // joules
};

}  // namespace approx
