// How a process ended.
#pragma once

#include <optional>

namespace approx {

// One of the two.
struct ProcessEnd {
  std::optional<int> exit_code = std::nullopt, signal = std::nullopt;
};

}  // namespace approx
