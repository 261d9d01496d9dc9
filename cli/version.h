// The output of --version.
#pragma once

#include <string>

namespace approx {

// The version as one line, or as a JSON document ("json"). Opens no library.
std::string version_text(const std::string& format);

}  // namespace approx
