// What a data set says of where it came from.
#pragma once

#include <string>

namespace approx {

// The last part of a path, with the MD5 of a file ("x.tar.gz, md5 ...", and whether that is the
// publisher's when `published_md5` is not empty): folders above it are the user's own affair.
std::string source_text(const std::string& path, const std::string& published_md5 = "");

}  // namespace approx
