// Texts of methods in Python (core/python/python_methods.h), as runs are stored with them.
#pragma once

#include <algorithm>
#include <string_view>

#include "base/params.h"
#include "core/config/run_config.h"

namespace approx {

// The parameters that every method in Python has behind its own. They have one possible value each:
// the SHA-256 of the file's text, and the versions of Python and of PyTorch. So they are in the
// full text of the method, and with it in the key of a run, but in no label.
inline constexpr const char* kPythonFileParam = "file";
inline constexpr const char* kPythonParam = "python";
inline constexpr const char* kPytorchParam = "pytorch";

// Whether the full text of a method, which may be empty, is of one in Python.
inline bool is_python_text(std::string_view method) {
  if (method.empty()) return false;
  const auto given = parse_spec(method).arguments;
  return given.size() >= 3 && given[given.size() - 3].first == kPythonFileParam &&
         given[given.size() - 2].first == kPythonParam && given.back().first == kPytorchParam;
}

// Whether a method of the run is in Python: its seconds are the interpreter's too.
inline bool is_in_python(const RunConfig& config) {
  return is_python_text(config.method) ||
         std::ranges::any_of(config.schedule,
                             [](const Rule& rule) { return is_python_text(rule.method); });
}

}  // namespace approx
