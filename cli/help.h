// --help of every command, and what is said of a command line that cannot be
// read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace approx {

// The example first, 80 columns at most, hidden options (group "") left out.
std::string help_text(const CLI::App& command);

// One line for what the parser threw: what is wrong, the nearest right
// spelling, where to look.
std::string parse_problem(const CLI::App& root, const CLI::ParseError& error);

// The group of a command behind another one whose options mean nothing there: its help leaves them
// out, and refuse_options_above(), first in its callback, refuses those that were given. (The
// parser takes options of a command above wherever they stand.)
inline constexpr const char* kStandsAlone = "stands alone";
void refuse_options_above(const CLI::App& command);

// The command that the arguments came to: the innermost one named on the
// command line.
const CLI::App& active_command(const CLI::App& root);

}  // namespace approx
