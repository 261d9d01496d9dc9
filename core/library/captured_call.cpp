#include "core/library/captured_call.h"

#include <exception>
#include <utility>

#include "base/text.h"

namespace approx {

CapturedCall::CapturedCall(std::shared_ptr<StepRecorder> recorder, std::function<void()> work)
    : state_(std::make_shared<State>()) {
  state_->recorder = std::move(recorder);
  state_->work = std::move(work);
}

void CapturedCall::operator()() const {
  State& state = *state_;
  if (state.recorded == nullptr && state.failure.empty() && state.calls++ >= kCallsBefore) {
    try {
      state.recorded = state.recorder->record(state.work);
    } catch (const std::exception& error) {
      state.failure = first_line(error.what());
    }
  }
  if (state.recorded != nullptr) return state.recorded->replay();
  state.work();
}

}  // namespace approx
