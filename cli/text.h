// Text in and out of the command line: lists, durations, and bytes of unknown origin made fit for a
// terminal.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/params.h"

namespace approx {

using Nanoseconds = std::chrono::nanoseconds;

// `90`, `90s`, `30m`, `8h`, `250ms`, `1.5h`: not negative, at most 10 years.
// `what` (a flag) stands in front of the message of Error(kUsage).
Nanoseconds parse_duration(std::string_view text, std::string_view what);

// "850 ms", "12.3 s", "4 min 05 s", "3 h 07 min".
std::string format_duration(Nanoseconds duration);

// "512M", "4G", "1.5GiB": a number of bytes, in powers of 1024. Throws Error(kUsage) that begins
// with `what`.
int64_t parse_size(std::string_view text, std::string_view what);

// "3 KiB", "512 MiB", "4.0 GiB".
std::string format_size(int64_t bytes);

// Bytes as valid UTF-8 on one line: control characters and broken sequences become `\xNN`.
std::string printable(std::string_view bytes);

// As one word that a shell reads back.
std::string shell_word(std::string_view text);

// Parts between commas, white space around them cut; an empty text has none.
std::vector<std::string> split_list(std::string_view text);

// The default of a parameter as its flag takes it.
std::string value_text(const Value& value);

// Names between commas, where a piece with `=` and no `:` before it goes on with the parameters of
// the one before: `topk_position:k=1,scale=none,zero` names two methods.
std::vector<std::string> split_methods(const std::string& text);

}  // namespace approx
