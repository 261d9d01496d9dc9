// What LibTorch is asked to do, for tests of what a step does rather than of how long it takes.
#pragma once

#include <ATen/record_function.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

namespace approx {

// The operators dispatched while one lives, each with the sizes of its tensors. One at a time.
class Operators {
 public:
  Operators() {
    calls().clear();
    handle_ = at::addGlobalCallback(
        at::RecordFunctionCallback(&record).needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }
  ~Operators() { at::removeCallback(handle_); }
  Operators(const Operators&) = delete;
  Operators& operator=(const Operators&) = delete;

  static std::vector<std::string>& calls() {
    static std::vector<std::string> list;
    return list;
  }

  // Those whose result the host must wait for: values read, shapes that depend on values.
  static std::vector<std::string> waits() {
    static const std::vector<std::string> kWaiting = {"aten::item",
                                                      "aten::_local_scalar_dense",
                                                      "aten::is_nonzero",
                                                      "aten::nonzero",
                                                      "aten::equal",
                                                      "aten::masked_select",
                                                      "aten::_unique2",
                                                      "aten::unique_dim",
                                                      "aten::repeat_interleave",
                                                      "aten::_assert_async",
                                                      "aten::where"};
    std::vector<std::string> found;
    for (const auto& call : calls()) {
      const auto name = call.substr(0, call.find(' '));
      // where() of one argument is nonzero(); that of three waits for nothing.
      if (name == "aten::where" && std::count(call.begin(), call.end(), '[') > 1) continue;
      if (std::ranges::find(kWaiting, name) != kWaiting.end()) found.push_back(call);
    }
    return found;
  }

 private:
  static std::unique_ptr<at::ObserverContext> record(const at::RecordFunction& function) {
    std::string call = function.name();
    for (const auto& input : function.inputs()) {
      if (input.isTensor() && input.toTensor().defined()) {
        call += fmt::format(" [{}]", fmt::join(input.toTensor().sizes(), ","));
      }
    }
    calls().push_back(std::move(call));
    return nullptr;
  }

  at::CallbackHandle handle_;
};

}  // namespace approx
