// The terminal of standard output.
#pragma once

#include <cstddef>
#include <optional>

namespace approx {

// Number of columns of the terminal on standard output: from the terminal itself, else from the
// variable COLUMNS, else 80. None where standard output is no terminal.
std::optional<size_t> output_width();

}  // namespace approx
