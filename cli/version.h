// --version.
#pragma once

#include <string>

namespace approx {

// One line, or a JSON document ("json"). It opens no library.
std::string version_text(const std::string& format);

}  // namespace approx
