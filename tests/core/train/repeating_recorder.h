// Captured steps on a CPU: a replay does the step again, and is held to what a graph would have
// repeated.
#pragma once

#include <ATen/ATen.h>
#include <ATen/record_function.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "core/train/step_recorder.h"

namespace approx {

// The operators that are dispatched while one lives, each with all that a graph would hold fast of
// it: the scalars that it is given and, of tensors, sizes, strides and types; of those that were
// there before, their addresses too. (Those are of operators that are not part of another: what
// LibTorch allocates inside one is not seen.) Two things that a GPU does another way are left out:
// what the update rules for the CPU are made of, which read their numbers; and the values of
// scalar_tensor(), by which loops of the CPU hand on what they counted. One at a time.
class Trace {
 public:
  Trace() {
    state() = {};
    handle_ = at::addGlobalCallback(at::RecordFunctionCallback(&begin, &end)
                                        .needsInputs(true)
                                        .needsOutputs(true)
                                        .scopes({at::RecordScope::FUNCTION}));
  }
  ~Trace() { at::removeCallback(handle_); }
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  static std::vector<std::string> of(const std::function<void()>& step) {
    const Trace trace;
    step();
    return state().calls;
  }

 private:
  struct State {
    std::vector<std::string> calls;
    std::set<const void*> made, found;  // memory: by operators of the trace, by others
    int depth = 0, hidden = 0;          // operators inside operators, inside such as are left out
  };

  static State& state() {
    static State own;
    return own;
  }

  static bool is_scalar(const at::RecordFunction& function) {
    return std::string_view(function.name()) == "aten::scalar_tensor";
  }
  static bool hides_its_own(const at::RecordFunction& function) {
    return std::string_view(function.name()).starts_with("aten::_fused_") || is_scalar(function);
  }

  static std::string text(const at::Tensor& tensor) {
    if (!tensor.defined()) return "none";
    auto text = fmt::format("{}[{}|{}]", c10::toString(tensor.scalar_type()),
                            fmt::join(tensor.sizes(), ","), fmt::join(tensor.strides(), ","));
    // A number that became a tensor for the operator's sake.
    if (tensor.unsafeGetTensorImpl()->is_wrapped_number()) {
      const at::NoGradGuard no_grad;
      const at::RecordFunctionGuard unseen(/*is_enabled=*/false);
      return fmt::format("{}={}", text, tensor.item<double>());
    }
    const void* memory = tensor.storage().data();
    auto& s = state();
    if (s.depth > 0 || tensor.numel() == 0 || s.made.contains(memory)) return text;
    s.found.insert(memory);
    return text + fmt::format("@{}+{}", memory, tensor.storage_offset());
  }

  static std::string text(const c10::IValue& value) {
    if (value.isTensor()) return text(value.toTensor());
    if (value.isNone()) return "none";
    if (value.isInt()) return fmt::format("{}", value.toInt());
    if (value.isDouble()) return fmt::format("{}", value.toDouble());
    if (value.isBool()) return fmt::format("{}", value.toBool());
    if (value.isList()) {
      std::string all = "(";
      for (const auto& item : value.toListRef()) all += text(item) + " ";
      return all + ")";
    }
    return value.tagKind();
  }

  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (state().hidden == 0) {
      std::string call = function.name();
      if (!is_scalar(function)) {
        for (const auto& input : function.inputs()) call += " " + text(input);
      }
      state().calls.push_back(std::move(call));
    }
    ++state().depth;
    state().hidden += hides_its_own(function);
    return nullptr;
  }

  static void end(const at::RecordFunction& function, at::ObserverContext* /*context*/) {
    --state().depth;
    state().hidden -= hides_its_own(function);
    for (const auto& output : function.outputs()) add_made(output);
  }

  static void add_made(const c10::IValue& value) {
    if (value.isTensor() && value.toTensor().defined()) {
      const void* memory = value.toTensor().storage().data();
      if (!state().found.contains(memory)) state().made.insert(memory);
    } else if (value.isTensorList()) {
      for (const auto& item : value.toListRef()) add_made(item);
    }
  }

  at::CallbackHandle handle_;
};

// What became of the steps that were recorded.
struct Repetitions {
  int64_t recorded = 0, replayed = 0;
  std::vector<std::string> calls;        // of the last that was recorded
  std::vector<std::string> differences;  // what a replay did otherwise, the first of each
};

class RepeatingRecorder final : public StepRecorder {
 public:
  explicit RepeatingRecorder(Repetitions& seen) : seen_(seen) {}

  // Does the step, and so owes no more than the rest of the replays.
  std::unique_ptr<RecordedStep> record(const std::function<void()>& step) override {
    auto recorded = std::make_unique<Step>(step, Trace::of(step), seen_);
    ++seen_.recorded;
    seen_.calls = recorded->calls;
    return recorded;
  }

 private:
  struct Step final : RecordedStep {
    Step(std::function<void()> body, std::vector<std::string> trace, Repetitions& repetitions)
        : step(std::move(body)), calls(std::move(trace)), seen(repetitions) {}

    void replay() override {
      ++seen.replayed;
      if (std::exchange(done, false)) return;
      const auto now = Trace::of(step);
      const auto [was, is] = std::ranges::mismatch(calls, now);
      if (was == calls.end() && is == now.end()) return;
      seen.differences.push_back(fmt::format("{} and not {}", is == now.end() ? "nothing" : *is,
                                             was == calls.end() ? "nothing" : *was));
    }

    std::function<void()> step;
    std::vector<std::string> calls;
    Repetitions& seen;
    bool done = true;
  };

  Repetitions& seen_;
};

}  // namespace approx
