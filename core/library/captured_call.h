// A call that a device has recorded, as it records a training step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/train/step_recorder.h"

namespace approx {

// Does what `work` does: by calling it at first, so that what it allocates once and keeps is there
// and algorithms are chosen, then by replays of what it asked of the device in one more call.
// Where that cannot be recorded `work` is called each time. Copies share the recording.
class CapturedCall {
 public:
  static constexpr int64_t kCallsBefore = 2;

  CapturedCall(std::shared_ptr<StepRecorder> recorder, std::function<void()> work);

  void operator()() const;

  // Why it was not recorded when that was tried; "" else.
  const std::string& failure() const { return state_->failure; }

 private:
  struct State {
    std::shared_ptr<StepRecorder> recorder;
    std::function<void()> work;
    int64_t calls = 0;
    std::unique_ptr<RecordedStep> recorded;
    std::string failure;
  };
  std::shared_ptr<State> state_;
};

}  // namespace approx
