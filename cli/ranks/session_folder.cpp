#include "cli/ranks/session_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/user_folders.h"
#include "cli/text.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "approxtrain-job-";
constexpr std::string_view kMade =
    ".approxtrain-job-";  // nobody looks for one that is not held yet

Descriptor open_folder(const std::string& path) {
  return Descriptor(open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
}

void remove_folder(const std::string& path) {
  std::error_code ignored;
  fs::remove_all(path, ignored);
}

}  // namespace

SessionFolder::SessionFolder(const std::string& parent) {
  std::string made = fmt::format("{}/{}XXXXXX", parent, kMade);
  const auto fail = [&] {
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: {}; the ranks of a run need a folder there, or "
                            "in TMPDIR",
                            printable(parent), std::strerror(errno)));
  };
  if (mkdtemp(made.data()) == nullptr) fail();
  held_ = open_folder(made);
  const std::string name = fmt::format("{}/{}{}", parent, kPrefix, made.substr(made.size() - 6));
  if (!held_ || flock(held_.get(), LOCK_EX | LOCK_NB) != 0 ||
      rename(made.c_str(), name.c_str()) != 0) {
    const int why = errno;
    remove_folder(made);
    errno = why;
    fail();
  }
  path_ = name;
}

SessionFolder::~SessionFolder() { remove_folder(path_); }

std::string session_parent() {
  struct stat status {};
  constexpr const char* kMemory = "/dev/shm";
  if (stat(kMemory, &status) == 0 && S_ISDIR(status.st_mode) && access(kMemory, W_OK) == 0) {
    return kMemory;
  }
  const auto parents = temporary_parents();
  const auto serves = [&](const std::string& parent) {
    return stat(parent.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
           access(parent.c_str(), W_OK | X_OK) == 0;
  };
  const auto found = std::ranges::find_if(parents, serves);
  return found == parents.end() ? parents.front() : *found;
}

void remove_stale_sessions(const std::string& parent) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error)) {
    if (!entry.path().filename().string().starts_with(kPrefix)) continue;
    const std::string path = entry.path().string();
    const Descriptor folder = open_folder(path);
    struct stat status {};
    if (!folder || fstat(folder.get(), &status) != 0 || status.st_uid != geteuid()) continue;
    if (flock(folder.get(), LOCK_EX | LOCK_NB) == 0) remove_folder(path);
  }
}

}  // namespace approx
