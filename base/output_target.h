// The file that a path for writing stands for.
#pragma once

#include <string>

namespace approx {

struct OutputTarget {
  // The file behind all links, in its folder without links ("/data/t.md" of "./link"). Of an open
  // descriptor the file that it is open on, "" where that is none.
  std::string path;
  int descriptor = -1;  // an open one, which the path names: /dev/stdout, /dev/fd/3
  // Whether a new file takes the place of what is there, which is a regular file or nothing. Not a
  // pipe, a device or a descriptor: these are written to.
  bool is_replaced = false;
};

// Returns the path itself if it cannot be followed: whoever opens it is told why.
OutputTarget output_target(const std::string& path);

}  // namespace approx
