// Times blocks of work on a machine that may be disturbed.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/train/machine_probe.h"

namespace approx {

// Below this share of a core, threads share cores. Two threads on one core have a half each. Clocks
// that fall when all cores work cost less than a tenth.
inline constexpr double kLeastCoreShare = 0.75;

// The clock changed between two blocks if the lower clock is less than this share of the higher.
inline constexpr double kLeastClockShare = 0.9;

struct TimedBlock {
  int64_t ns = 0;
  std::optional<double> core_share;  // the smaller of those before and after the block
  std::optional<double> clock_mhz;   // the mean of those before and after the block
  // The reasons that held the device back before or after the block: "heat, the power supply"; "":
  // none did. Nothing if no driver tells.
  std::optional<std::string> slowed_by;
  int64_t repeats = 0;        // how often the block was repeated
  bool is_disturbed = false;  // even the last time
};

// Times blocks of work between two probes of the machine, and repeats blocks that were disturbed.
// It repeats each a few times, and in all at most as often as there are blocks. A block is
// disturbed if threads shared a core, or if a driver says that the device is held back. If no
// driver can tell, it is disturbed if the clock changed. A constant clock is normal, however low.
// If a device is held back it waits a little for that to pass, also at most as often as there are
// blocks. A block that stays disturbed is kept and taints the run.
class BlockTimer {
 public:
  // `blocks`: the number of blocks. Without a probe they are only timed. `pause` waits before a
  // probe is tried again; the default sleeps, tests pass their own.
  BlockTimer(MachineProbe probe, int64_t blocks, const std::atomic<bool>& stop,
             std::function<void()> pause = {});

  // `work` returns the nanoseconds that it takes. Once `stop` is set no block is repeated.
  TimedBlock time(const std::function<int64_t()>& work);

  // The reasons why the run is tainted. "its threads shared cores in 3 of 20 blocks (0.52 of a core
  // each at worst)". "its clock changed in 2 of 20 blocks (from 4.2 to 3.1 GHz at worst)". "heat
  // held it back in 4 of 20 blocks".
  std::vector<std::string> taints() const;

 private:
  const MachineState& settle();
  void note(const MachineState& before, const MachineState& after, const TimedBlock& block);

  const MachineProbe probe_;
  const std::atomic<bool>& stop_;
  const std::function<void()> pause_;
  int64_t repeats_left_, pauses_left_;
  MachineState last_;
  int64_t blocks_ = 0, shared_ = 0, clock_changed_ = 0;
  double least_share_ = 1;
  std::pair<double, double> clocks_{1, 1};    // the pair that differed most: before, after
  std::map<std::string, int64_t> held_back_;  // number of blocks by reason
};

}  // namespace approx
