// The hint in a message about an unknown name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace approx {

// ` (did you mean "x"?)`, then `; known: a, b` where there are few names or none is near. After a
// suggestion nobody needs forty other names.
std::string known_names(std::string_view word, const std::vector<std::string>& valid);

}  // namespace approx
