// The terminal that standard output or standard error is on.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <optional>

namespace approx {

// Columns of the terminal on `descriptor`, by the terminal itself, else by the variable COLUMNS,
// else 80. None where the descriptor is no terminal.
std::optional<size_t> output_width(int descriptor = STDOUT_FILENO);

}  // namespace approx
