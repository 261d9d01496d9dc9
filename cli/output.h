// Where commands with `--out FILE` put their text.
#pragma once

#include <string>

namespace approx {

// To standard output where `out` is "" or "-", else to that file by write_output
// (base/outputs.h), which refuses one that the command reads.
void print_or_write(const std::string& text, const std::string& out);

// Throws Error(kUsage) where print_or_write() would refuse that name, or where no file can be made
// there: before a command has worked for it.
void check_printed_or_written(const std::string& out);

}  // namespace approx
