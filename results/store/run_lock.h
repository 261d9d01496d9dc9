// Tells who is alive, by an advisory lock (flock) on a file. The kernel releases it when the
// process that holds it ends for any reason, and no clock is involved.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/files.h"

namespace approx {

// A lock held for the life of the object. Programs that the process starts do not inherit it.
class RunLock {
 public:
  // The locks in a run directory. A worker holds kWorker while it works. The process that began the
  // run (RunStore::begin) holds kClaim until the run's end is recorded.
  static constexpr const char* kWorker = "lock";
  static constexpr const char* kClaim = "claim";

  // Takes `directory`/`name`, and creates the directory and the file if missing. Nothing if another
  // process holds the lock for more than a second (a shorter hold is a test() next door). Throws
  // Error(kInternal) if the file cannot be made.
  static std::optional<RunLock> acquire(const std::string& directory,
                                        const std::string& name = kWorker);

  // Whether some process, this one included, holds `directory`/`name`. False where there is no such
  // file.
  static bool held(const std::string& directory, const std::string& name = kWorker);

 private:
  explicit RunLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace approx
