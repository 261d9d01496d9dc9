#include "core/parallel/device_watch.h"

#include <algorithm>
#include <exception>
#include <utility>

namespace approx {

DeviceWatch::DeviceWatch(std::chrono::milliseconds limit, Device device,
                         std::chrono::milliseconds pause)
    : state_(std::make_shared<State>(pause)) {
  state_->limit = limit;
  state_->device = std::move(device);
  state_->progress = state_->clock.now();
  thread_ = std::thread([state = state_] { work(*state); });
}

DeviceWatch::~DeviceWatch() {
  bool has_failed = false;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
    has_failed = !state_->failure.empty();
  }
  state_->stopped.notify_all();
  if (has_failed) {
    thread_.detach();
  } else {
    thread_.join();
  }
}

void DeviceWatch::expect(std::function<bool()> reached) {
  const std::lock_guard lock(state_->mutex);
  state_->expected.push_back({std::move(reached), state_->clock.now()});
}

DeviceWatch::Call::Call(DeviceWatch& watch) : watch_(watch) {
  const std::lock_guard lock(watch_.state_->mutex);
  watch_.state_->call = watch_.state_->clock.now();
}

DeviceWatch::Call::~Call() {
  const std::lock_guard lock(watch_.state_->mutex);
  watch_.state_->call.reset();
}

std::string DeviceWatch::failure() const {
  const std::lock_guard lock(state_->mutex);
  return state_->failure;
}

void DeviceWatch::work(State& state) {
  std::unique_lock lock(state.mutex);
  std::string fault;
  try {
    if (state.device.begin) state.device.begin();
  } catch (const std::exception& error) {
    fault = error.what();
  }
  while (fault.empty()) {
    if (state.stopped.wait_for(lock, state.pause, [&] { return state.stop; })) return;
    fault = look(state, lock);
  }
  state.failure = fault;
  lock.unlock();
  if (state.device.give_up) state.device.give_up(fault);
}

// What is wrong now. Unlocked while it asks the device.
std::string DeviceWatch::look(State& state, std::unique_lock<std::mutex>& lock) {
  try {
    while (!state.expected.empty()) {
      auto& first = state.expected.front();  // others are only added behind it
      lock.unlock();
      const bool is_reached = first.reached();
      lock.lock();
      if (!is_reached) break;
      state.expected.pop_front();
      state.progress = state.clock.now();
    }
    if (state.device.fault) {
      lock.unlock();
      auto fault = state.device.fault();
      lock.lock();
      if (!fault.empty()) return fault;
    }
  } catch (const std::exception& error) {
    if (!lock.owns_lock()) lock.lock();
    return error.what();
  }
  const auto now = state.clock.now();
  const bool is_late = !state.expected.empty() &&
                       now - std::max(state.expected.front().asked, state.progress) > state.limit;
  const bool hangs = state.call && now - *state.call > state.limit;
  return is_late || hangs ? state.device.late : "";
}

}  // namespace approx
