// A folder for the files of a launcher and the ranks of one job while they run: sessions, shared
// memory. If all of them are killed, a later process removes it.
#pragma once

#include <string>

#include "base/files.h"

namespace approx {

// A folder in `parent`, named "approxtrain-job-" and six letters. It is locked (flock) as long as
// the object lives, then removed with its content.
class SessionFolder {
 public:
  // Throws Error(kInternal), which names `parent`.
  explicit SessionFolder(const std::string& parent);
  ~SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor held_;
};

// Where session folders go: in memory (/dev/shm) if possible, since messages between ranks go
// through it; else with temporary files (TMPDIR, /tmp).
std::string session_parent();

// Removes this user's session folders in `parent` that nobody holds any more.
void remove_stale_sessions(const std::string& parent);

}  // namespace approx
