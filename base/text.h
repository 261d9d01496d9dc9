// Small operations on text that several rooms need.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace approx {

// The text without the blanks and tabs around it.
std::string_view trim(std::string_view text);

// The pieces between the characters of `separators`, in order and unchanged: at least one piece,
// each possibly empty. The pieces point into `text`.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);

// The text before the first line feed, or all of it.
std::string_view first_line(std::string_view text);

// The text between quotation marks, for messages; a long text only up to a limit.
std::string quote(std::string_view text);

}  // namespace approx
