// The text that a data set keeps about its origin.
#pragma once

#include <string>

namespace approx {

// The last part of a path; the folders above it are private. For a file also its MD5 ("x.tar.gz,
// md5 ..."). With `published_md5` it says whether that is the publisher's MD5.
std::string source_text(const std::string& path, const std::string& published_md5 = "");

}  // namespace approx
