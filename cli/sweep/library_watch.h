// Whether what computes the runs of a sweep is one library, from the first to the last.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "cli/sweep/observed.h"

namespace approx {

// A file as it was at one moment.
struct FileState {
  std::string path;  // "": there was none
  dev_t device = 0;
  ino_t inode = 0;
  int64_t size = 0, changed_ns = 0;  // when its content was last written

  bool operator==(const FileState&) const = default;
  // Whether it is the same file with another content.
  bool is_overwritten(const FileState& now) const;
};

// The state of a file; of no file where it cannot be found.
FileState file_state(const std::string& path);

// The library may be rebuilt while a sweep is at work. A run by another build than the first one,
// or by a file that was not whole, is not to be stored.
class LibraryWatch {
 public:
  // What is wrong with the library of a run, by its "start" event; "" where nothing is, or where
  // that does not say.
  std::string at_start(const Json& start);

  // The same of a run that has ended, by what was seen of its worker and by the library's file when
  // the worker was started and now.
  static std::string at_end(const Observed& worker, const FileState& then, const FileState& now);

 private:
  std::string first_;  // build id
};

}  // namespace approx
