#include "cli/sweep/sweep_lock.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "base/digest.h"
#include "base/numbers.h"
#include "cli/sweep/run_paths.h"

namespace approx {

namespace {

namespace fs = std::filesystem;

std::string folder_of(const std::string& db) { return runs_directory(db) + "/sweeps"; }

std::string hash_of(const std::string& experiment) { return sha256_hex(experiment).substr(0, 12); }

// Who holds locks of whole files here, by the files' inodes: lines of /proc/locks such as
// "1: FLOCK  ADVISORY  WRITE 1234 fd:01:5678 0 EOF".
std::multimap<ino_t, pid_t> file_locks() {
  std::multimap<ino_t, pid_t> found;
  std::ifstream in("/proc/locks");
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string number, kind, mode, access, file;
    pid_t process = 0;
    words >> number >> kind >> mode >> access >> process >> file;
    const auto inode = parse_integer(std::string_view(file).substr(file.rfind(':') + 1));
    if (kind == "FLOCK" && process > 0 && inode) {
      found.emplace(static_cast<ino_t>(*inode), process);
    }
  }
  return found;
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
  const auto locks = file_locks();
  std::error_code error;
  for (const auto& file : fs::directory_iterator(folder_of(db), error)) {
    const std::string name = file.path().filename().string();
    if (!experiment.empty() && !name.starts_with(hash_of(experiment) + "-")) continue;
    struct stat status {};
    if (::stat(file.path().c_str(), &status) != 0) continue;
    const auto [first, last] = locks.equal_range(status.st_ino);
    for (auto lock = first; lock != last; ++lock) processes.push_back(lock->second);
  }
  std::sort(processes.begin(), processes.end());
  processes.erase(std::unique(processes.begin(), processes.end()), processes.end());
  return processes;
}

std::string SweepLock::lock_name(int64_t number) const {
  return fmt::format("{}-{}", experiment_, number);
}

}  // namespace approx
