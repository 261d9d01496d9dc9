// Energy that training takes, where the machine counts it: RAPL for the processors (Linux
// powercap), NVML for a GPU. Whole devices are counted, so what else runs on them is counted as
// well.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/train/gpu_monitor.h"

namespace approx {

// Counters of one machine. Cheap to read, a few file reads; without readable counters it says so by
// nullopt and costs nothing.
class EnergyMeter {
 public:
  // `gpu`: whose counter is read too; null: none. `powercap`: where the kernel shows RAPL; tests
  // put files of their own there.
  explicit EnergyMeter(std::unique_ptr<GpuMonitor> gpu = nullptr,
                       const std::string& powercap = "/sys/class/powercap");

  // Joules since the last call or construction, of the processors' packages and of the GPU;
  // nullopt where they cannot be read. RAPL's counters wrap around, after tens of minutes under
  // load; one wrap between calls is accounted for.
  std::optional<double> take_cpu_joules();
  std::optional<double> take_gpu_joules();

 private:
  struct Zone {
    std::string file;
    uint64_t range = 0, last = 0;  // microjoules; range: where it wraps
  };

  std::vector<Zone> zones_;
  std::unique_ptr<GpuMonitor> gpu_;
  std::optional<double> gpu_last_;  // joules
};

}  // namespace approx
