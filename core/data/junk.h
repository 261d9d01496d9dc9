// Files that operating systems leave beside those of a data set: no reader takes one for data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace approx {

// Whether the file `name`, a path with forward slashes, is such a file: one in a folder `__MACOSX`,
// `.DS_Store`, `._*` (what macOS keeps beside a file), or, in any case of letters, `Thumbs.db` and
// `desktop.ini` of Windows.
bool is_junk(std::string_view name);

// How many such files lie in `folder` itself, not in the folders in it; 0 if it cannot be read.
int64_t count_junk(const std::string& folder);

}  // namespace approx
