// Files that operating systems leave beside the files of a data set. Readers do not read them as
// data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace approx {

// Whether the file `name`, a path with forward slashes, is such a file:
// - a file in a folder `__MACOSX`, `.DS_Store`, or `._*` (which macOS keeps beside a file);
// - `Thumbs.db` or `desktop.ini` of Windows, in any case of letters.
bool is_junk(std::string_view name);

// The number of such files in `folder` itself, without its subfolders; 0 if it cannot be read.
int64_t count_junk(const std::string& folder);

}  // namespace approx
