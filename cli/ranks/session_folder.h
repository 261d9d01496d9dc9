// A folder for what a launcher and the ranks of one job need while they live: sessions, shared
// memory. Where everybody is killed, somebody else removes it.
#pragma once

#include <string>

#include "base/files.h"

namespace approx {

// Named "approxtrain-job-" and six letters, in `parent`; held (flock) as long as the object lives,
// then removed with all that is in it.
class SessionFolder {
 public:
  // Throws Error(kInternal) that names the parent.
  explicit SessionFolder(const std::string& parent);
  ~SessionFolder();
  SessionFolder(const SessionFolder&) = delete;
  SessionFolder& operator=(const SessionFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_;
  Descriptor held_;
};

// In memory where there is such a place (/dev/shm), for messages between ranks go through it; else
// with temporary files (TMPDIR, /tmp).
std::string session_parent();

// Removes those in `parent` that are this user's and that nobody holds any more.
void remove_stale_sessions(const std::string& parent);

}  // namespace approx
