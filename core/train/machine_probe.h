// The state of a machine during a timing: whether each thread of the process has a physical core,
// and its clock. Virtual machines sometimes put two virtual cores on one physical core. Clocks fall
// with heat, and rise for a while after a pause. A timing is then of another machine, and not
// equally so for the exact and the approximated network.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/train/gpu_monitor.h"

namespace approx {

struct MachineState {
  // The share of a physical core that each thread has: 1 for a core each, 0.5 for two threads on
  // one core.
  std::optional<double> core_share;
  std::optional<double> clock_mhz;
  // The reasons that hold the device back, by its driver ("heat"). Nothing if no driver tells.
  std::optional<std::vector<std::string>> slowed_by;
};

// Returns the state of the machine at this moment.
using MachineProbe = std::function<MachineState()>;

// Measures the share of a core on the threads of at::parallel_for, in about 5 ms. The share is the
// rate of all threads together, over the rate of one thread alone times their number. The rates are
// of multiply-adds in registers. The rate alone is the fastest that this object has measured, so
// that a single thread is compared with its own past.
class FmaProbe {
 public:
  FmaProbe();
  double operator()();

  // Floating-point operations a second that all of these threads reach together. It is the best of
  // some tries, as no disturbance makes a core faster. Takes about 20 ms.
  double ceiling() const;

 private:
  // Rounds a second of `threads` threads together.
  double rate(int64_t threads) const;

  int64_t rounds_ = 1000;  // of one measurement and thread
  double alone_ = 0;       // rounds a second of one thread
};

// Probes the processor: shares by an FmaProbe, the clock by additions (kernels/probe/clock.h).
MachineProbe cpu_probe();

// Asks a GPU's driver. The state is empty if there is no such driver.
MachineProbe gpu_probe(std::shared_ptr<GpuMonitor> gpu);

}  // namespace approx
