// What LibTorch is asked to do, for tests of what a step does rather than of how long it takes.
#pragma once

#include <ATen/record_function.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
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

  // Those whose result the host must wait for.
  static std::vector<std::string> waits() {
    std::vector<std::string> found;
    std::ranges::copy_if(calls(), std::back_inserter(found), is_wait);
    return found;
  }

  // Whether a call reads values, or has a shape that depends on values.
  static bool is_wait(const std::string& call) {
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
    const auto name = call.substr(0, call.find(' '));
    // where() of one argument is nonzero(); that of three waits for nothing.
    if (name == "aten::where" && std::count(call.begin(), call.end(), '[') > 1) return false;
    return std::ranges::find(kWaiting, name) != kWaiting.end();
  }

 private:
  static std::unique_ptr<at::ObserverContext> record(const at::RecordFunction& function) {
    std::string call = function.name();
    // Told how many there will be, it asks no device for their sum.
    if (call == "aten::repeat_interleave" && function.inputs().back().isInt()) call += "(known)";
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
