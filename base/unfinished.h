// The name that a file has while it is written, beside the one that it gets.
#pragma once

#include <string>

namespace approx {

// A file, or an empty folder, that is removed unless it is kept: by the destructor, and where a
// signal ends the process before that. What kill -9 leaves is replaced by open_new() where a
// process has the same number, and never read.
class Unfinished {
 public:
  // Nothing is removed yet, whatever file has that name.
  explicit Unfinished(std::string path);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const std::string& path() const { return path_; }
  // It has got its final name, or is somebody else's now: no longer removed.
  void keep();

 private:
  std::string path_;
  int slot_;  // among those that a signal removes; -1: none was free
  bool kept_ = false;
};

// `path` with the number of this process behind it, no longer than a file's name may be.
std::string unfinished_name(const std::string& path);

}  // namespace approx
