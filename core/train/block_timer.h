// Timing blocks of work on a machine that may be disturbed meanwhile.
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

// Below this, threads share cores: half of a core each is what two on one have, and clocks that
// fall when all cores work cost less than a tenth.
inline constexpr double kLeastCoreShare = 0.75;

// The clock changed between two blocks if the lower clock is less than this share of the higher.
inline constexpr double kLeastClockShare = 0.9;

struct TimedBlock {
  int64_t ns = 0;
  std::optional<double> core_share;  // the smaller of those before and after it
  std::optional<double> clock_mhz;   // the mean of those before and after it
  int64_t repeats = 0;               // how often it was done again
  bool is_disturbed = false;         // to the end
};

// Times blocks of work that a probe looks at before and after, and does those again that were
// disturbed, a few times each, and in all no more often than there are blocks. A block is disturbed
// where threads shared a core or a driver says that the device is held back, which it waits a
// little for to pass, no more often than there are blocks either; and where no driver tells, by a
// clock that changed. A clock that stays is what the machine has, however low. What is still
// disturbed then is kept and taints the run.
class BlockTimer {
 public:
  // `blocks`: how many there will be. Without a probe they are only timed. `pause` waits before a
  // probe is tried again; a sleep, but in tests.
  BlockTimer(MachineProbe probe, int64_t blocks, const std::atomic<bool>& stop,
             std::function<void()> pause = {});

  // `work` takes and returns nanoseconds. Once `stop` is set nothing is done again.
  TimedBlock time(const std::function<int64_t()>& work);

  // "its threads shared cores in 3 of 20 blocks (0.52 of a core each at worst)", "its clock changed
  // in 2 of 20 blocks (from 4.2 to 3.1 GHz at worst)", "heat held it back in 4 of 20 blocks".
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
  std::pair<double, double> clocks_{1, 1};    // where they differed most: before, after
  std::map<std::string, int64_t> held_back_;  // blocks, by what held the device back
};

}  // namespace approx
