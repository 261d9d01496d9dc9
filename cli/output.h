// Output of commands with `--out FILE`.
#pragma once

#include <string>

namespace approx {

// Prints to standard output where `out` is "" or "-". Otherwise writes that file by write_output
// (base/outputs.h), which refuses files that the command reads.
void print_or_write(const std::string& text, const std::string& out);

// Checks `out` before a command does its work. Throws Error(kUsage) where print_or_write() would
// refuse that name, or where no file can be made there.
void check_printed_or_written(const std::string& out);

}  // namespace approx
