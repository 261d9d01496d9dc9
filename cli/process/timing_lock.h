// Timings do not share a machine: one lock for all its users.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/files.h"

namespace approx {

class TimingLock {
 public:
  // Waits until nobody on this machine times anything. `note` is called once if that takes longer
  // than two seconds, and names the process. Returns nothing if `give_up` became true first. Throws
  // as MachineName does.
  static std::optional<TimingLock> acquire(const std::function<bool()>& give_up,
                                           const std::function<void(const std::string&)>& note);

 private:
  explicit TimingLock(Descriptor socket) : socket_(std::move(socket)) {}

  Descriptor socket_;
};

}  // namespace approx
