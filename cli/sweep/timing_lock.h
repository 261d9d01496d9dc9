// Timings do not share a machine: one lock for each user.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/files.h"

namespace approx {

class TimingLock {
 public:
  // Waits until no other process of this user times anything; `note` is told once when that takes
  // longer than two seconds. Nothing when `give_up` became true first. The file is
  // $XDG_RUNTIME_DIR/approxtrain-timing.lock, else /tmp/approxtrain-timing-<uid>.lock. Throws
  // Error(kInternal) when it cannot be made.
  static std::optional<TimingLock> acquire(const std::function<bool()>& give_up,
                                           const std::function<void(const std::string&)>& note);

 private:
  explicit TimingLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace approx
