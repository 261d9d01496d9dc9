// Numbers from text and back, equal in every locale: a decimal comma in the environment must not
// change what a file means.
#pragma once

#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"

namespace approx {

// The whole number that all of `text` spells, if it is from `min` to `max`. No plus sign and no
// blanks are allowed: callers that allow those trim first.
std::optional<int64_t> parse_integer(std::string_view text,
                                     int64_t min = std::numeric_limits<int64_t>::min(),
                                     int64_t max = std::numeric_limits<int64_t>::max());

// The finite number that all of `text` spells, if it is from `min` to `max`.
std::optional<double> parse_real(std::string_view text,
                                 double min = std::numeric_limits<double>::lowest(),
                                 double max = std::numeric_limits<double>::max());

// A number and the text after it: "30m", "0.25dur", "12".
struct Quantity {
  double value = 0;
  std::string_view unit;  // points into the text; may be empty
};

// The finite number at the beginning of `text`, and the rest of the text.
std::optional<Quantity> parse_quantity(std::string_view text,
                                       std::chars_format format = std::chars_format::general);

// The shortest text that reads back as an equal double ("0.1", "1e-05", "3.0"), or "nan", "inf" and
// "-inf".
std::string shortest(double value);

// JSON and SQLite have no NaN and no infinities. Events and the store write null instead, and
// beside it, as "special", the name of the value: "nan", "+inf" or "-inf".
Json json_number(double value);                         // null where it is not finite
std::optional<std::string> special_name(double value);  // nothing where it is finite
double special_value(std::string_view name);            // the reverse; NaN for any other name

}  // namespace approx
