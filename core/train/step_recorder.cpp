#include "core/train/step_recorder.h"

#include "base/error.h"
#include "kernels/library.h"

namespace approx {
namespace {

constexpr const char* kGraphs = "libapproxtrain_graphs.so";

}  // namespace

MakeStepRecorder& step_recorder_maker() {
  static MakeStepRecorder maker = nullptr;
  return maker;
}

std::unique_ptr<StepRecorder> open_step_recorder(c10::Device device) {
  if (!open_beside(kGraphs) || step_recorder_maker() == nullptr) {
    throw Error(ErrorKind::kDevice,
                fmt::format("{} is not beside this library: it was built without CUDA", kGraphs));
  }
  return step_recorder_maker()(device);
}

}  // namespace approx
