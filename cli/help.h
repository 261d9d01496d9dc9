// --help of every command, and the message for a command line that cannot be read.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace approx {

// The help of a command, at most 80 columns wide. The example comes first; hidden options (group
// "") are left out.
std::string help_text(const CLI::App& command);

// One line for a parser error: what is wrong, the nearest valid spelling, and where to look.
std::string parse_problem(const CLI::App& root, const CLI::ParseError& error);

// The group of a command for which the options of the command above it have no meaning. Its help
// leaves those options out. (The parser takes options of a command above wherever they are given.)
// refuse_options_above(), called first in its callback, refuses them if they were given.
inline constexpr const char* kStandsAlone = "stands alone";
void refuse_options_above(const CLI::App& command);

// The command that the arguments select: the innermost one named on the command line.
const CLI::App& active_command(const CLI::App& root);

}  // namespace approx
