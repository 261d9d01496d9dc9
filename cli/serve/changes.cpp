#include "cli/serve/changes.h"

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace approx {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLongestWait{500};
// A comment so often shows a browser that the connection is alive.
constexpr std::chrono::seconds kSilence{15};

}  // namespace

struct Changes::State {
  std::mutex mutex;
  std::condition_variable changed;
  int64_t version = 0;
  int listeners = 0;
  bool ended = false;
};

class Changes::Stream final : public EventStream {
 public:
  Stream(std::shared_ptr<State> state, int64_t seen) : state_(std::move(state)), seen_(seen) {}

  ~Stream() override {
    const std::lock_guard lock(state_->mutex);
    --state_->listeners;
  }

  std::optional<std::string> next() override {
    // The first answer comes at once, and says how soon to try again after a lost connection.
    if (!greeted_) {
      greeted_ = true;
      return "retry: 2000\n\n";
    }
    std::unique_lock lock(state_->mutex);
    state_->changed.wait_for(lock, kLongestWait,
                             [&] { return state_->ended || state_->version != seen_; });
    if (state_->ended) {
      if (told_end_) return std::nullopt;
      told_end_ = true;
      return "event: end\ndata: 0\n\n";
    }
    const bool changed = state_->version != seen_;
    if (!changed && Clock::now() - said_ < kSilence) return "";
    said_ = Clock::now();
    if (!changed) return ": nothing new\n\n";
    seen_ = state_->version;
    return fmt::format("event: change\ndata: {}\n\n", seen_);
  }

 private:
  const std::shared_ptr<State> state_;
  int64_t seen_;
  bool greeted_ = false, told_end_ = false;
  Clock::time_point said_ = Clock::now();
};

Changes::Changes() : state_(std::make_shared<State>()) {}

std::shared_ptr<EventStream> Changes::open() {
  const std::lock_guard lock(state_->mutex);
  if (state_->listeners >= kMostListeners) return nullptr;
  ++state_->listeners;
  return std::make_shared<Stream>(state_, state_->version);
}

int Changes::listeners() const {
  const std::lock_guard lock(state_->mutex);
  return state_->listeners;
}

void Changes::tell() {
  const std::lock_guard lock(state_->mutex);
  ++state_->version;
  state_->changed.notify_all();
}

void Changes::end() {
  const std::lock_guard lock(state_->mutex);
  state_->ended = true;
  state_->changed.notify_all();
}

}  // namespace approx
