// Whether all runs of a sweep are computed by one library.
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
  // Whether it is the same file with other content.
  bool is_overwritten(const FileState& now) const;
};

// The state of a file, or of no file where it cannot be found.
FileState file_state(const std::string& path);

// Watches for a rebuild of the library during a sweep. A run by another build than the first one's,
// or by an incomplete file, must not be stored.
class LibraryWatch {
 public:
  // The fault of a run's library, from its "start" event; "" where there is none, or where the
  // event does not name the library.
  std::string at_start(const Json& start);

  // The fault of the library of an ended run; "" where there is none. It follows from what was seen
  // of its worker, and from the library's file at the start of the worker and now.
  static std::string at_end(const Observed& worker, const FileState& then, const FileState& now);

 private:
  std::string first_;  // build id of the first run
};

}  // namespace approx
