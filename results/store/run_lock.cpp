#include "results/store/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <thread>

#include "base/error.h"

namespace approx {
namespace {

Error refusal(const std::string& path, const char* what) {
  return Error(ErrorKind::kInternal, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

// Without waiting: in a folder that came from elsewhere a pipe or a link may have its name.
Descriptor open_lock(const std::string& path, int flags) {
  constexpr int kAlways = O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC;
  Descriptor file(::open(path.c_str(), flags | kAlways, 0666));
  struct stat status {};
  if (file && ::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) return file;
  if (file) errno = EINVAL;
  return Descriptor();
}

}  // namespace

std::optional<RunLock> RunLock::acquire(const std::string& directory, const std::string& name) {
  // Opening the lock says why there is no folder.
  [[maybe_unused]] const auto ignored = make_folder_durably(directory);
  const std::string path = directory + "/" + name;
  Descriptor file = open_lock(path, O_RDWR | O_CREAT);
  if (!file) {
    throw refusal(path, "the lock file cannot be made");
  }
  // About a second. Tries and not a time, which may pass while this process does not run.
  constexpr int kTries = 200;
  for (int tries = 0; ::flock(file.get(), LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw refusal(path, "the file system refuses a lock");
    }
    if (tries == kTries) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return RunLock(std::move(file));
}

bool RunLock::held(const std::string& directory, const std::string& name) {
  const Descriptor file = open_lock(directory + "/" + name, O_RDONLY);
  if (!file) return false;
  // Shared, so that two that look at the same time do not take each other for the holder.
  int result;
  do {
    result = ::flock(file.get(), LOCK_SH | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result != 0 && errno == EWOULDBLOCK;
}

}  // namespace approx
