// Numbers from text and back, the same under every locale: a decimal comma in the environment must
// not change what a file means.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace approx {

// The whole number that all of `text` spells, where it lies from `min` to `max`. No plus sign, no
// blanks: callers that allow those trim first.
std::optional<int64_t> parse_integer(std::string_view text,
                                     int64_t min = std::numeric_limits<int64_t>::min(),
                                     int64_t max = std::numeric_limits<int64_t>::max());

// The finite number that all of `text` spells, where it lies from `min` to `max`.
std::optional<double> parse_real(std::string_view text,
                                 double min = std::numeric_limits<double>::lowest(),
                                 double max = std::numeric_limits<double>::max());

// A number and what stands behind it: "30m", "0.25dur", "12".
struct Quantity {
  double value = 0;
  std::string_view unit;  // points into the text; may be empty
};

// The finite number that `text` begins with, and the rest.
std::optional<Quantity> parse_quantity(std::string_view text,
                                       std::chars_format format = std::chars_format::general);

// The shortest text that reads back as the same double ("0.1", "1e-05", "3.0"); "nan", "inf" and
// "-inf" for what is no number.
std::string shortest(double value);

// JSON and SQLite have no NaN and no infinities. Events and the store write null in their place and
// keep beside it, as "special", what it stands for: "nan", "+inf" or "-inf".
Json json_number(double value);                         // null where it is not finite
std::optional<std::string> special_name(double value);  // nothing where it is finite
double special_value(std::string_view name);            // the way back; NaN for any other name

}  // namespace approx
