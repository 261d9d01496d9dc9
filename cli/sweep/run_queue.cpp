#include "cli/sweep/run_queue.h"

#include <algorithm>

namespace approx {

bool RunQueue::any(const std::function<bool(const PlannedRun&)>& is) const {
  return std::ranges::any_of(waiting_, [&](const Waiting& waiting) { return is(*waiting.run); });
}

int64_t RunQueue::disturbed() const {
  return std::ranges::count_if(waiting_,
                               [](const Waiting& waiting) { return waiting.timed_again > 0; });
}

void RunQueue::sort() {
  if (!deadline_) return;
  std::stable_sort(waiting_.begin(), waiting_.end(), [](const Waiting& a, const Waiting& b) {
    return a.run->config.seed < b.run->config.seed;
  });
}

std::optional<Waiting> RunQueue::take(Clock::time_point now) {
  if (is_over(now) || (none_since_ && now >= *none_since_)) return std::nullopt;
  const auto fits = [&](const Waiting& waiting) {
    if (!deadline_) return true;
    const auto seconds = times_.expected(waiting.run->config);
    return !seconds || now + std::chrono::duration<double>(*seconds) <= *deadline_;
  };
  const auto next = std::find_if(waiting_.begin(), waiting_.end(), fits);
  if (next == waiting_.end()) {
    none_since_ = now;
    return std::nullopt;
  }
  const Waiting taken = *next;
  waiting_.erase(next);
  return taken;
}

}  // namespace approx
