// What a device can record of a training step, to do it again at a single word of the host.
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

  // Has the device do what was recorded, after what was asked of it before. Waits for nothing.
  virtual void replay() = 0;
};

class StepRecorder {
 public:
  StepRecorder() = default;
  virtual ~StepRecorder() = default;
  StepRecorder(const StepRecorder&) = delete;
  StepRecorder& operator=(const StepRecorder&) = delete;

  // Calls `step` once and records what it asks of the device, which does none of it until a replay.
  // Memory that `step` allocates is the recording's from then on. Throws what `step` throws, and
  // whatever the device says of what it cannot record; the device has then done nothing.
  virtual std::unique_ptr<RecordedStep> record(const std::function<void()>& step) = 0;
};

// That of a GPU: a CUDA graph. It is in a library of its own, libapproxtrain_graphs.so
// (core/train/cuda/), since it needs the CUDA half of LibTorch, which is opened and not linked.
// Throws Error(kDevice) where this build has none.
std::unique_ptr<StepRecorder> open_step_recorder(c10::Device device);

// Set by that library when it is opened.
using MakeStepRecorder = std::unique_ptr<StepRecorder> (*)(c10::Device device);
MakeStepRecorder& step_recorder_maker();

}  // namespace approx
