// Small operations on text that several rooms need alike.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace approx {

// Without the blanks and tabs around it.
std::string_view trim(std::string_view text);

// What stands between the characters of `separators`, in order and as it is: at least one piece,
// each possibly empty. The pieces point into `text`.
std::vector<std::string_view> split(std::string_view text, std::string_view separators);

// What stands before the first line feed, or all of it.
std::string_view first_line(std::string_view text);

// Between quotation marks, for messages. Of a long text only the beginning.
std::string quote(std::string_view text);

}  // namespace approx
