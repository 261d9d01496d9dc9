// The file that is meant by a path for writing.
#pragma once

#include <string>

namespace approx {

struct OutputTarget {
  // The file behind all links, in its folder without links ("/data/t.md" for "./link"). For an open
  // descriptor it is the file behind it, "" where that is none.
  std::string path;
  // An open descriptor that the path names (/dev/stdout, /dev/fd/3); -1: none.
  int descriptor = -1;
  // Whether a new file replaces the target, which is then a regular file or missing. Pipes, devices
  // and descriptors are written to directly.
  bool is_replaced = false;
};

// Resolves a path. Returns the path itself if it cannot be followed; opening it will report why.
OutputTarget output_target(const std::string& path);

}  // namespace approx
