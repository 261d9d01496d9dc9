// The runs that a sweep has yet to begin.
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
  // There were when it was decided to do it, whatever its state. -1: only if it has no result.
  int64_t attempts = -1;
  int64_t retries = 0;      // of this sweep
  int64_t timed_again = 0;  // how often this sweep had timed it, each time disturbed
};

// Runs in their order; or, where there is a budget of time, seed by seed, so that comparisons are
// complete before others begin, and of those only runs that will probably end within it.
class RunQueue {
 public:
  // A budget is its user's time: a machine that sleeps uses it up.
  using Clock = BootClock;

  RunQueue() = default;
  // `deadline`: when the budget ends. `times`: of earlier runs.
  RunQueue(Clock::time_point deadline, RunTimes times)
      : deadline_(deadline), times_(std::move(times)) {}

  // With that budget from now on, 0: none, and the times of a database.
  static RunQueue within(std::chrono::nanoseconds budget, const std::string& db) {
    if (budget.count() == 0) return {};
    return {Clock::now() + budget, RunTimes(db)};
  }

  bool empty() const { return waiting_.empty(); }
  int64_t size() const { return static_cast<int64_t>(waiting_.size()); }
  bool any(const std::function<bool(const PlannedRun&)>& is) const;
  // How many of them are disturbed timings, which have a result that no report counts.
  int64_t disturbed() const;

  void add(const Waiting& waiting) {
    waiting_.push_back(waiting);
    none_since_.reset();
  }
  void add_first(const Waiting& waiting) {
    waiting_.push_front(waiting);
    none_since_.reset();
  }

  // Puts them into the order in which they are to be begun.
  void sort();

  // What a run took that has just ended well.
  void learn(const RunConfig& config, double seconds) {
    if (!deadline_) return;  // nobody will ask
    times_.add(config, seconds);
    none_since_.reset();
  }

  // The next to be begun; nothing where there is none, or none that would end in time. How long one
  // takes that nobody knows is found out by beginning it.
  std::optional<Waiting> take(Clock::time_point now = Clock::now());

  // Whether the budget is used up.
  bool is_over(Clock::time_point now = Clock::now()) const { return deadline_ && now > *deadline_; }

 private:
  std::optional<Clock::time_point> deadline_;
  RunTimes times_;
  std::deque<Waiting> waiting_;
  // Since when none fits, as far as is known: less time will not change it, and a sweep asks ten
  // times a second.
  std::optional<Clock::time_point> none_since_;
};

}  // namespace approx
