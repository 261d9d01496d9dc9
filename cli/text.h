// Text in and out of the command line: values of flags, durations, and bytes of
// unknown origin made fit for a terminal.
#pragma once

#include <CLI/CLI.hpp>
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

// Bytes as valid UTF-8 on one line: control characters and broken sequences
// become `\xNN`.
std::string printable(std::string_view bytes);

// A whole number of a flag: decimal digits only, checked against [min, max]
// without overflow.
CLI::Option* add_integer(CLI::App& app, const std::string& flag, int64_t& value, int64_t min,
                         int64_t max, const std::string& help);

// A finite number of a flag, with a decimal point in every locale.
CLI::Option* add_real(CLI::App& app, const std::string& flag, double& value, double min, double max,
                      const std::string& help);

// One of a few words.
CLI::Option* add_choice(CLI::App& app, const std::string& flag, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help);

// A duration, as parse_duration reads it.
CLI::Option* add_duration(CLI::App& app, const std::string& flag, Nanoseconds& value,
                          const std::string& help);

// Parts between commas, white space around them cut; an empty text has none.
std::vector<std::string> split_list(std::string_view text);

// The default of a parameter as its flag takes it.
std::string value_text(const Value& value);

// Names between commas, where a piece with `=` and no `:` before it goes on
// with the parameters of the one before: `topk_position:k=1,scale=none,zero`
// names two methods.
std::vector<std::string> split_methods(const std::string& text);

// Rows of text as a Markdown table (columns padded, a number to the right) or
// as CSV (RFC 4180).
std::string markdown_table(const std::vector<std::string>& header,
                           const std::vector<std::vector<std::string>>& rows);
std::string csv_table(const std::vector<std::string>& header,
                      const std::vector<std::vector<std::string>>& rows);

}  // namespace approx
