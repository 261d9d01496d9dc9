// Text of the command line: lists, durations, and bytes of unknown origin made safe for a terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"

namespace approx {

using Nanoseconds = std::chrono::nanoseconds;

// Reads a duration: `90`, `90s`, `30m`, `8h`, `250ms`, `1.5h`; not negative, at most 10 years.
// `what` (a flag) is the beginning of the message of Error(kUsage).
Nanoseconds parse_duration(std::string_view text, std::string_view what);

// A duration as text: "850 ms", "12.3 s", "4 min 05 s", "3 h 07 min".
std::string format_duration(Nanoseconds duration);

// Reads a number of bytes, in powers of 1024: "512M", "4G", "1.5GiB". Throws Error(kUsage) that
// begins with `what`.
int64_t parse_size(std::string_view text, std::string_view what);

// A number of bytes as text: "3 KiB", "512 MiB", "4.0 GiB".
std::string format_size(int64_t bytes);

// Bytes as valid UTF-8 on one line: control characters and broken sequences become `\xNN`.
std::string printable(std::string_view bytes);

// Quotes text as one word for a shell.
std::string shell_word(std::string_view text);

// The parts between commas, without white space around them; an empty text has none.
std::vector<std::string> split_list(std::string_view text);

// The default of a parameter, as its flag takes it.
std::string value_text(const Value& value);

// Splits names at commas. A piece with `=` and no `:` before it belongs to the parameters of the
// previous piece: `topk_position:k=1,scale=none,zero` names two methods.
std::vector<std::string> split_methods(const std::string& text);

}  // namespace approx
