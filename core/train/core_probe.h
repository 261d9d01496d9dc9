// Whether the threads of a process have a physical core each. Virtual machines put two virtual
// cores on one physical core now and then, which halves everything that is timed there, of the
// exact and of the approximated network not alike.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace approx {

// What share of a physical core each thread has right now: 1 for a core each, 0.5 for two threads
// on one.
using CoreProbe = std::function<double()>;

// Measures it on the threads of at::parallel_for, in about 5 ms: the rate of multiply-adds in
// registers of all threads together, over that of one alone times their number. The fastest of one
// alone that this object has seen counts, so that a single thread is held against its own past.
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

// Below this, threads share cores: half of a core each is what two on one have, and clocks that
// fall when all cores work cost less than a tenth.
inline constexpr double kLeastCoreShare = 0.75;

struct TimedBlock {
  int64_t ns = 0;
  std::optional<double> core_share;  // the smaller of those before and after it
  int64_t repeats = 0;               // how often it was done again
};

// Times blocks of work that a probe looks at before and after, and does those again whose threads
// shared a core: a little later, a few times each, and in all no more often than there are blocks,
// nor does it wait more often. What still shares a core then is kept and taints the run.
class BlockTimer {
 public:
  // `blocks`: how many there will be. Without a probe they are only timed. `pause` waits before a
  // probe is tried again; a sleep, but in tests.
  BlockTimer(CoreProbe probe, int64_t blocks, const std::atomic<bool>& stop,
             std::function<void()> pause = {});

  // `work` takes and returns nanoseconds. Once `stop` is set nothing is done again.
  TimedBlock time(const std::function<int64_t()>& work);

  // "its threads shared cores in 3 of 20 blocks (0.52 of a core each at worst)"; "" if none did.
  std::string taint() const;

 private:
  double settle();

  const CoreProbe probe_;
  const std::atomic<bool>& stop_;
  const std::function<void()> pause_;
  int64_t repeats_left_, pauses_left_;
  double last_ = 1;  // of the probe
  int64_t blocks_ = 0, shared_ = 0;
  double worst_ = 1;
};

}  // namespace approx
