#include "core/train/block_timer.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "base/error.h"

namespace approx {
namespace {

constexpr int64_t kRepeats = 3;  // of one block
constexpr auto kPause = std::chrono::milliseconds(50);

bool shares_cores(const MachineState& state) {
  return state.core_share && *state.core_share < kLeastCoreShare;
}

bool is_held_back(const MachineState& state) {
  return state.slowed_by && !state.slowed_by->empty();
}

// The lower clock over the higher one; 1 where they are not known, or a driver tells what matters.
double clock_share(const MachineState& before, const MachineState& after) {
  if (before.slowed_by || !before.clock_mhz || !after.clock_mhz) return 1;
  const auto [low, high] = std::minmax({*before.clock_mhz, *after.clock_mhz});
  return high > 0 ? low / high : 1;
}

// What held the device back in one of both states, each reason once.
std::optional<std::string> reasons_of(const MachineState& before, const MachineState& after) {
  if (!before.slowed_by || !after.slowed_by) return std::nullopt;
  std::vector<std::string> reasons = *before.slowed_by;
  for (const auto& reason : *after.slowed_by) {
    if (std::ranges::find(reasons, reason) == reasons.end()) reasons.push_back(reason);
  }
  return fmt::format("{}", fmt::join(reasons, ", "));
}

bool is_disturbed(const MachineState& before, const MachineState& after) {
  return shares_cores(before) || shares_cores(after) || is_held_back(before) ||
         is_held_back(after) || clock_share(before, after) < kLeastClockShare;
}

}  // namespace

BlockTimer::BlockTimer(MachineProbe probe, int64_t blocks, const std::atomic<bool>& stop,
                       std::function<void()> pause)
    : probe_(std::move(probe)),
      stop_(stop),
      pause_(pause ? std::move(pause) : [] { std::this_thread::sleep_for(kPause); }),
      repeats_left_(blocks),
      pauses_left_(blocks) {
  if (probe_) last_ = probe_();
}

// The state before a block: waits a little where the last one was no good.
const MachineState& BlockTimer::settle() {
  for (; (shares_cores(last_) || is_held_back(last_)) && pauses_left_ > 0 && !stop_;
       --pauses_left_) {
    pause_();
    last_ = probe_();
  }
  return last_;
}

TimedBlock BlockTimer::time(const std::function<int64_t()>& work) {
  TimedBlock block;
  ++blocks_;
  if (!probe_) {
    block.ns = work();
    return block;
  }
  while (true) {
    const MachineState before = settle();
    block.ns = work();
    last_ = probe_();
    if (before.core_share && last_.core_share) {
      block.core_share = std::min(*before.core_share, *last_.core_share);
    }
    if (before.clock_mhz && last_.clock_mhz) {
      block.clock_mhz = (*before.clock_mhz + *last_.clock_mhz) / 2;
    }
    block.slowed_by = reasons_of(before, last_);
    block.is_disturbed = is_disturbed(before, last_);
    if (!block.is_disturbed || stop_) return block;
    if (block.repeats == kRepeats || repeats_left_ == 0) {
      note(before, last_, block);
      return block;
    }
    ++block.repeats, --repeats_left_;
  }
}

// A block that stays disturbed.
void BlockTimer::note(const MachineState& before, const MachineState& after,
                      const TimedBlock& block) {
  if (block.core_share && *block.core_share < kLeastCoreShare) {
    ++shared_;
    least_share_ = std::min(least_share_, *block.core_share);
  }
  for (const auto* state : {&before, &after}) {
    if (!is_held_back(*state)) continue;
    for (const auto& reason : *state->slowed_by) ++held_back_[reason];
    break;  // a block counts once
  }
  const double share = clock_share(before, after);
  if (share >= kLeastClockShare) return;
  ++clock_changed_;
  const auto [low, high] = std::minmax(clocks_.first, clocks_.second);
  if (share < low / high) clocks_ = {*before.clock_mhz, *after.clock_mhz};
}

std::vector<std::string> BlockTimer::taints() const {
  std::vector<std::string> taints;
  if (shared_ > 0) {
    taints.push_back(
        fmt::format("its threads shared cores in {} of {} blocks ({:.2f} of a core each at worst)",
                    shared_, blocks_, least_share_));
  }
  if (clock_changed_ > 0) {
    taints.push_back(
        fmt::format("its clock changed in {} of {} blocks (from {:.2f} to {:.2f} GHz at worst)",
                    clock_changed_, blocks_, 1e-3 * clocks_.first, 1e-3 * clocks_.second));
  }
  for (const auto& [reason, blocks] : held_back_) {
    taints.push_back(fmt::format("{} held it back in {} of {} blocks", reason, blocks, blocks_));
  }
  return taints;
}

}  // namespace approx
