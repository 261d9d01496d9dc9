// The runs that a sweep has not begun yet.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>

#include "base/awake_clock.h"
#include "core/experiment/experiment.h"
#include "results/store/run_history.h"

namespace approx {

struct Waiting {
  const PlannedRun* run = nullptr;
  int64_t number = 0;
  // Number of attempts when it was decided to do the run, whatever its state. -1: do it only if it
  // has no result.
  int64_t attempts = -1;
  int64_t retries = 0;      // by this sweep
  int64_t timed_again = 0;  // how often this sweep has timed it, disturbed each time
};

// Runs in their order. With a budget of time they are ordered seed by seed, so that comparisons are
// complete before others begin. Then only runs that will probably end within the budget are begun.
class RunQueue {
 public:
  // The clock of a budget includes sleeps of the machine, since the budget is the user's time.
  using Clock = BootClock;

  RunQueue() = default;
  // `deadline`: the end of the budget. `times`: durations of earlier runs.
  RunQueue(Clock::time_point deadline, RunTimes times)
      : deadline_(deadline), times_(std::move(times)) {}

  // A queue with a budget from now on (0: none) and the durations of a database.
  static RunQueue within(std::chrono::nanoseconds budget, const std::string& db) {
    if (budget.count() == 0) return {};
    return {Clock::now() + budget, RunTimes(db)};
  }

  bool empty() const { return waiting_.empty(); }
  int64_t size() const { return static_cast<int64_t>(waiting_.size()); }
  bool any(const std::function<bool(const PlannedRun&)>& is) const;
  // How many of the runs are disturbed timings: they have a result, but reports do not count it.
  int64_t disturbed() const;

  void add(const Waiting& waiting) {
    waiting_.push_back(waiting);
    none_since_.reset();
  }
  void add_first(const Waiting& waiting) {
    waiting_.push_front(waiting);
    none_since_.reset();
  }

  // Sorts the runs into the order in which they shall begin.
  void sort();

  // Records the duration of a run that has just ended well.
  void learn(const RunConfig& config, double seconds) {
    if (!deadline_) return;  // nobody will ask
    times_.add(config, seconds);
    none_since_.reset();
  }

  // Removes and returns the next run to begin; nothing where there is none, or none that would end
  // in time. A run of unknown duration is begun to learn it.
  std::optional<Waiting> take(Clock::time_point now = Clock::now());

  // Whether the budget is used up.
  bool is_over(Clock::time_point now = Clock::now()) const { return deadline_ && now > *deadline_; }

 private:
  std::optional<Clock::time_point> deadline_;
  RunTimes times_;
  std::deque<Waiting> waiting_;
  // Since when no run fits, as far as known. Less time will not change that, and a sweep asks ten
  // times a second.
  std::optional<Clock::time_point> none_since_;
};

}  // namespace approx
