// The temporary name of a file while it is written, beside its final name.
#pragma once

#include <string>

namespace approx {

// Removes a file or an empty folder unless it is kept: by the destructor, and before that if a
// signal ends the process. A file left behind after kill -9 is never read. open_new() replaces it
// when a process has that number again.
class Unfinished {
 public:
  // Registers `path`. An existing file of that name is not removed now.
  explicit Unfinished(std::string path);
  ~Unfinished();
  Unfinished(const Unfinished&) = delete;
  Unfinished& operator=(const Unfinished&) = delete;

  const std::string& path() const { return path_; }
  // Stops the removal: the file has its final name, or belongs to somebody else now.
  void keep();

 private:
  std::string path_;
  int slot_;  // among the files that a signal removes; -1: none was free
  bool kept_ = false;
};

// `path` followed by the number of this process, no longer than a file name may be.
std::string unfinished_name(const std::string& path);

}  // namespace approx
