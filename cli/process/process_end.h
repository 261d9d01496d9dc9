// How a process ended.
#pragma once

#include <optional>

namespace approx {

// Exactly one of both has a value.
struct ProcessEnd {
  std::optional<int> exit_code = std::nullopt, signal = std::nullopt;
};

}  // namespace approx
