#include "cli/process/timing_lock.h"

#include <fmt/format.h>

#include <chrono>
#include <thread>
#include <utility>

#include "cli/process/machine_name.h"

namespace approx {

std::optional<TimingLock> TimingLock::acquire(const std::function<bool()>& give_up,
                                              const std::function<void(const std::string&)>& note) {
  using Clock = std::chrono::steady_clock;
  const MachineName name("timing");
  const auto since = Clock::now();
  bool told = false;
  while (true) {
    if (Descriptor own = name.hold()) return TimingLock(std::move(own));
    if (give_up()) return std::nullopt;
    if (!told && Clock::now() - since > std::chrono::seconds(2)) {
      note(fmt::format("waiting for another timing on this machine ({})", name.holder()));
      told = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
}

}  // namespace approx
