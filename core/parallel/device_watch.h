// Watches from a thread of its own whether the work given to a device makes progress.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/awake_clock.h"

namespace approx {

class DeviceWatch {
 public:
  using Clock = std::chrono::steady_clock;  // with the times of AwakeClock

  // How the watch asks a device. All calls are from the watch's own thread.
  struct Device {
    std::function<void()> begin = {};                       // called once, before all others
    std::function<std::string()> fault = {};                // the device's fault; "": none known
    std::function<void(const std::string&)> give_up = {};   // once: ends all waits for other
                                                            // ranks; may never return
    std::string late = "the device did not go on in time";  // the failure if there is no progress
  };

  // `limit`: the longest time between two pieces of work that the device completes.
  DeviceWatch(std::chrono::milliseconds limit, Device device,
              std::chrono::milliseconds pause = std::chrono::milliseconds(20));
  // Leaves a thread behind that does not return from give_up().
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // Tells the watch that the device was given work, after the work that it expects already.
  // `reached` says whether the device has completed it. An exception of `reached` is a fault.
  void expect(std::function<bool()> reached);

  // While one lives, its thread is in a call that must not take as long as the limit.
  class Call {
   public:
    explicit Call(DeviceWatch& watch);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    DeviceWatch& watch_;
  };

  // The failure, once there is one; "": none. It is set before give_up() is called. A thread that
  // reads a result of the device and then calls this is told of a failure before that result.
  std::string failure() const;

 private:
  struct Expected {
    std::function<bool()> reached;
    Clock::time_point asked;
  };
  // Outlives the object if its thread does.
  struct State {
    explicit State(std::chrono::milliseconds step) : pause(step), clock(step) {}

    std::chrono::milliseconds limit{}, pause;
    Device device;
    AwakeClock clock;  // a pause of this whole process is no delay
    mutable std::mutex mutex;
    std::condition_variable stopped;
    std::deque<Expected> expected;
    std::optional<Clock::time_point> call;  // when the current call began
    Clock::time_point progress;             // when work was last completed
    std::string failure;
    bool stop = false;
  };

  static void work(State& state);
  static std::string look(State& state, std::unique_lock<std::mutex>& lock);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace approx
