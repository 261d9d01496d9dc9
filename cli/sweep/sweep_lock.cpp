#include "cli/sweep/sweep_lock.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/digest.h"
#include "cli/sweep/run_paths.h"
#include "results/store/run_folders.h"

namespace approx {

namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& db) { return runs_directory(db) + "/sweeps"; }

std::string hash_of(const std::string& experiment) { return sha256_hex(experiment).substr(0, 12); }

struct FileLock {
  pid_t process = 0;
  dev_t device = 0;
};

// The exclusive locks of whole files here by the files' numbers: lines of /proc/locks such as
// "1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF". Who only looks whether a file is locked has a
// shared one (READ) for that moment.
std::multimap<ino_t, FileLock> exclusive_locks() {
  std::multimap<ino_t, FileLock> found;
  std::ifstream in("/proc/locks");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, file;
    FileLock lock;
    words >> number >> kind >> mode >> access >> lock.process >> file;
    unsigned major = 0, minor = 0;
    unsigned long long inode = 0;
    if (std::sscanf(file.c_str(), "%x:%x:%llu", &major, &minor, &inode) != 3) continue;
    lock.device = makedev(major, minor);
    if (kind == "FLOCK" && access == "WRITE" && lock.process > 0) found.emplace(inode, lock);
  }
  return found;
}

// Whether it is this file that the process has locked. Another file system may have one of the same
// number, and stat gives some file systems another device than the kernel's list does: so one of
// the files that it has open has to be this one.
bool is_of(const FileLock& lock, const struct stat& file) {
  std::error_code error;
  fs::directory_iterator entry(fmt::format("/proc/{}/fd", lock.process), error);
  // Another user's process shows none.
  if (error == std::errc::permission_denied) return lock.device == file.st_dev;
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    struct stat open {};
    if (::stat(entry->path().c_str(), &open) == 0 && open.st_dev == file.st_dev &&
        open.st_ino == file.st_ino) {
      return true;
    }
  }
  return false;
}

}  // namespace

SweepLock::SweepLock(const std::string& db, const std::string& experiment)
    : folder_(folder_of(db)), experiment_(hash_of(experiment)) {
  for (;; ++number_) {
    if (RunLock::held(folder_, lock_name(number_))) continue;
    lock_ = RunLock::acquire(folder_, lock_name(number_));
    if (lock_) return;
  }
}

bool SweepLock::others() const {
  for (int64_t number = 0; fs::exists(folder_ + "/" + lock_name(number)); ++number) {
    if (number != number_ && RunLock::held(folder_, lock_name(number))) return true;
  }
  return false;
}

std::vector<pid_t> SweepLock::holders(const std::string& db, const std::string& experiment) {
  std::vector<pid_t> processes;
  const auto locks = exclusive_locks();
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder_of(db), error)) {
    const std::string name = file.path().filename().string();
    if (!experiment.empty() && !name.starts_with(hash_of(experiment) + "-")) continue;
    // Files of sweeps that have ended stay.
    if (!RunLock::held(folder_of(db), name)) continue;
    // A file that has another name, too, may be another program's lock.
    struct stat status {};
    if (::lstat(file.path().c_str(), &status) != 0 || !S_ISREG(status.st_mode) ||
        status.st_nlink != 1 || !is_numbered_name(name)) {
      continue;
    }
    const auto [first, last] = locks.equal_range(status.st_ino);
    for (auto lock = first; lock != last; ++lock) {
      if (is_of(lock->second, status)) processes.push_back(lock->second.process);
    }
  }
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  return processes;
}

std::string SweepLock::lock_name(int64_t number) const {
  return fmt::format("{}-{}", experiment_, number);
}

}  // namespace approx
