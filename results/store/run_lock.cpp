#include "results/store/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <thread>

#include "base/error.h"

namespace approx {
namespace {

Error refusal(const std::string& path, const char* what) {
  return Error(ErrorKind::kInternal, fmt::format("{}: {}: {}", path, what, std::strerror(errno)));
}

}  // namespace

std::optional<RunLock> RunLock::acquire(const std::string& directory, const std::string& name) {
  std::error_code ignored;
  std::filesystem::create_directories(directory, ignored);
  const std::string path = directory + "/" + name;
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file) {
    throw refusal(path, "the lock file cannot be made");
  }
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(1);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) {
      throw refusal(path, "the file system refuses a lock");
    }
    if (std::chrono::steady_clock::now() > deadline) return std::nullopt;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  return RunLock(std::move(file));
}

bool RunLock::held(const std::string& directory, const std::string& name) {
  const Descriptor file(::open((directory + "/" + name).c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return false;
  // Shared, so that two that look at the same time do not take each other for the holder.
  int result;
  do {
    result = ::flock(file.get(), LOCK_SH | LOCK_NB);
  } while (result != 0 && errno == EINTR);
  return result != 0 && errno == EWOULDBLOCK;
}

}  // namespace approx
