// Records the work of a training step on a device, so that the host can start it again with a
// single call.
#pragma once

#include <c10/core/Device.h>

#include <functional>
#include <memory>

namespace approx {

class RecordedStep {
 public:
  RecordedStep() = default;
  virtual ~RecordedStep() = default;
  RecordedStep(const RecordedStep&) = delete;
  RecordedStep& operator=(const RecordedStep&) = delete;

  // Starts the recorded work on the device, after all earlier work. Does not wait.
  virtual void replay() = 0;
};

class StepRecorder {
 public:
  StepRecorder() = default;
  virtual ~StepRecorder() = default;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  // Calls `step` once and records the work that it gives to the device, which does not run it
  // before a replay. The recording keeps the memory that `step` allocates. Throws what `step`
  // throws, and the device's error for work that it cannot record. The device has then done
  // nothing.
  virtual std::unique_ptr<RecordedStep> record(const std::function<void()>& step) = 0;
};

// The recorder of a GPU: a CUDA graph. It is in a library of its own, libapproxtrain_graphs.so
// (core/train/cuda/). It needs the CUDA half of LibTorch, which is opened and not linked. Throws
// Error(kDevice) if this build has none.
std::unique_ptr<StepRecorder> open_step_recorder(c10::Device device);

// That library sets this function when it is opened.
using MakeStepRecorder = std::unique_ptr<StepRecorder> (*)(c10::Device device);
MakeStepRecorder& step_recorder_maker();

}  // namespace approx
