// Sees from a thread of its own that what was asked of a device goes on.
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
  using Clock = std::chrono::steady_clock;  // as AwakeClock tells it

  // How it asks, all of it in its own thread.
  struct Device {
    std::function<void()> begin = {};                       // once, before anything else
    std::function<std::string()> fault = {};                // what is wrong, "": nothing known
    std::function<void(const std::string&)> give_up = {};   // once: whatever still waits for other
                                                            // ranks is to end; may never return
    std::string late = "the device did not go on in time";  // what is said where nothing comes
  };

  // `limit`: from one thing that the device has reached to the next that it was asked for.
  DeviceWatch(std::chrono::milliseconds limit, Device device,
              std::chrono::milliseconds pause = std::chrono::milliseconds(20));
  // A thread that does not return from give_up() is left behind.
  ~DeviceWatch();
  DeviceWatch(const DeviceWatch&) = delete;
  DeviceWatch& operator=(const DeviceWatch&) = delete;

  // The device was asked for something, behind what was expected before; `reached` says whether it
  // has come to it. What that throws is a fault.
  void expect(std::function<bool()> reached);

  // While one lives, its thread is in a call that should not take as long as the limit.
  class Call {
   public:
    explicit Call(DeviceWatch& watch);
    ~Call();
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;

   private:
    DeviceWatch& watch_;
  };

  // What went wrong, for good; "": nothing. Known before give_up() is called, so that who reads
  // what the device came to by then, and asks here afterwards, is told.
  std::string failure() const;

 private:
  struct Expected {
    std::function<bool()> reached;
    Clock::time_point asked;
  };
  // Outlives the object where its thread does.
  struct State {
    explicit State(std::chrono::milliseconds step) : pause(step), clock(step) {}

    std::chrono::milliseconds limit{}, pause;
    Device device;
    AwakeClock clock;  // a pause of this process is nobody's delay
    mutable std::mutex mutex;
    std::condition_variable stopped;
    std::deque<Expected> expected;
    std::optional<Clock::time_point> call;  // since when one is under way
    Clock::time_point progress;             // when something was reached last
    std::string failure;
    bool stop = false;
  };

  static void work(State& state);
  static std::string look(State& state, std::unique_lock<std::mutex>& lock);

  std::shared_ptr<State> state_;
  std::thread thread_;
};

}  // namespace approx
