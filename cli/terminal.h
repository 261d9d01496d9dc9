// The terminal that standard output is on.
#pragma once

#include <cstddef>
#include <optional>

namespace approx {

// Columns of the terminal on standard output, by the terminal itself, else by the variable COLUMNS,
// else 80. None where standard output is no terminal.
std::optional<size_t> output_width();

}  // namespace approx
