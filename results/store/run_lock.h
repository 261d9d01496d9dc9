// Who is alive, told by the kernel: an advisory lock (flock) on a file goes away with the process
// that holds it, whatever ended that process, and no clock takes part.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "base/files.h"

namespace approx {

// A lock held for the life of the object. Not inherited by programs that the process starts.
class RunLock {
 public:
  // What a worker holds in its run directory while it works, and what the process that began the
  // run (RunStore::begin) holds there until the run's end is recorded.
  static constexpr const char* kWorker = "lock";
  static constexpr const char* kClaim = "claim";

  // Takes `directory`/`name`, making the directory and the file where they are missing. Nothing
  // when another holder keeps it for more than a second (a shorter hold is a test() next door).
  // Throws Error(kInternal) when the file cannot be made.
  static std::optional<RunLock> acquire(const std::string& directory,
                                        const std::string& name = kWorker);

  // Whether someone, this process included, holds `directory`/`name`. False where there is no such
  // file.
  static bool held(const std::string& directory, const std::string& name = kWorker);

 private:
  explicit RunLock(Descriptor file) : file_(std::move(file)) {}

  Descriptor file_;
};

}  // namespace approx
