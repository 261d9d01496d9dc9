// What a machine gives to a timing: whether the threads of a process have a physical core each, and
// at what clock. Virtual machines put two virtual cores on one physical core now and then, and
// clocks fall with heat, and rise for a while after a pause: what is timed then is another machine,
// to the exact and to the approximated network not alike.
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
  // What share of a physical core each thread has: 1 for a core each, 0.5 for two threads on one.
  std::optional<double> core_share;
  std::optional<double> clock_mhz;
  // What holds the device back, by its driver ("heat"); nothing where no driver tells.
  std::optional<std::vector<std::string>> slowed_by;
};

// Asks the machine how it is right now.
using MachineProbe = std::function<MachineState()>;

// Measures the share on the threads of at::parallel_for, in about 5 ms: the rate of multiply-adds
// in registers of all threads together, over that of one alone times their number. The fastest of
// one alone that this object has seen counts, so that a single thread is held against its own past.
class FmaProbe {
 public:
  FmaProbe();
  double operator()();

  // Floating-point operations a second that all of those threads reach together: the best of some
  // tries, since nothing makes a core faster than it is. In about 20 ms.
  double ceiling() const;

 private:
  // Rounds a second of `threads` threads together.
  double rate(int64_t threads) const;

  int64_t rounds_ = 1000;  // of one measurement and thread
  double alone_ = 0;       // rounds a second
};

// Probes the processor: shares by an FmaProbe, the clock by additions (kernels/probe/clock.h).
MachineProbe cpu_probe();

// Asks a GPU's driver; tells nothing where there is no such driver.
MachineProbe gpu_probe(std::shared_ptr<GpuMonitor> gpu);

}  // namespace approx
