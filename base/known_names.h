// What a message says of a name that nothing has.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace approx {

// ` (did you mean "x"?)`, and behind it `; known: a, b` where these are few or nothing is near:
// behind the word that was meant nobody looks for forty others.
std::string known_names(std::string_view word, const std::vector<std::string>& valid);

}  // namespace approx
