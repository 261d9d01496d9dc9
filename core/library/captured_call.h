// A call that a device records and replays, as it does a training step.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "core/train/step_recorder.h"

namespace approx {

// Calls `work` the first kCallsBefore times: it then allocates the memory that it keeps, and
// chooses algorithms. One more call is recorded on the device, and later calls replay the
// recording. If recording fails, `work` is called each time. Copies share the recording.
class CapturedCall {
 public:
  static constexpr int64_t kCallsBefore = 2;

  CapturedCall(std::shared_ptr<StepRecorder> recorder, std::function<void()> work);

  void operator()() const;

  // Why recording failed; "" if it did not, or was not tried yet.
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
