#include "cli/process/pause_watch.h"

namespace approx {
namespace {

constexpr std::chrono::milliseconds kStep{50};

}  // namespace

PauseWatch::PauseWatch() : clock_(kStep, kLate) {
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!ended_.wait_for(lock, kStep, [this] { return ends_; })) clock_.now();
  });
}

PauseWatch::~PauseWatch() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  ended_.notify_all();
  thread_.join();
}

std::chrono::nanoseconds PauseWatch::paused() const {
  const std::lock_guard lock(mutex_);
  clock_.now();
  return clock_.paused();
}

}  // namespace approx
