// Small operations on text that several rooms need alike.
#pragma once

#include <string_view>

namespace approx {

// Without the blanks and tabs around it.
std::string_view trim(std::string_view text);

}  // namespace approx
