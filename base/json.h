// JSON, and how it is written for readers outside.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace approx {

using Json = nlohmann::json;

// Of anything: names of files are bytes, and what is no UTF-8 in them is replaced (U+FFFD) where
// the library would throw. `indent`: of each level, -1 for one line.
std::string json_text(const Json& json, int indent = -1);

}  // namespace approx
