// Flags by the type of their value. A value that cannot be read is an Error(kUsage), which names
// the flag.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "cli/text.h"

namespace approx {

// A whole number: decimal digits only, checked against [min, max] without overflow.
CLI::Option* add_integer(CLI::App& app, const std::string& flag, int64_t& value, int64_t min,
                         int64_t max, const std::string& help);

// Several whole numbers and ranges (base/range.h), separated by commas, none twice.
CLI::Option* add_integers(CLI::App& app, const std::string& flag, std::vector<int64_t>& values,
                          int64_t min, int64_t max, const std::string& help);

// A finite number, with a decimal point in every locale.
CLI::Option* add_real(CLI::App& app, const std::string& flag, double& value, double min, double max,
                      const std::string& help);

// Several finite numbers and ranges, separated by commas, none twice.
CLI::Option* add_reals(CLI::App& app, const std::string& flag, std::vector<double>& values,
                       double min, double max, const std::string& help);

// One of the words `choices`.
CLI::Option* add_choice(CLI::App& app, const std::string& flag, std::string& value,
                        const std::vector<std::string>& choices, const std::string& help);

// A number of bytes, in the format of parse_size.
CLI::Option* add_size(CLI::App& app, const std::string& flag, int64_t& bytes,
                      const std::string& help);

// A duration, in the format of parse_duration.
CLI::Option* add_duration(CLI::App& app, const std::string& flag, Nanoseconds& value,
                          const std::string& help);

// --require-clean, for which the command calls require_clean() (cli/environment.h).
CLI::Option* add_require_clean(CLI::App& app, bool& value);

}  // namespace approx
