#include "results/store/run_folders.h"

#include <sys/stat.h>

#include <filesystem>

#include "results/store/run_lock.h"

namespace approx {
namespace {

// What a name has behind the twelve digits of a key that it begins with.
std::optional<std::string_view> behind_short_key(std::string_view name) {
  constexpr size_t kDigits = 12;
  const auto key = name.substr(0, kDigits);
  if (key.size() < kDigits || key.find_first_not_of("0123456789abcdef") != key.npos) {
    return std::nullopt;
  }
  return name.substr(kDigits);
}

}  // namespace

std::string path_beside(const std::string& db, const std::string& ending) {
  std::filesystem::path path(db);
  // With a dot what is beside "t" would be beside "t.db" as well.
  if (path.extension() != ".db") return db + "-" + ending.substr(1);
  return path.replace_extension().string() + ending;
}

std::string runs_directory(const std::string& db) { return path_beside(db, ".runs"); }

bool is_numbered_name(std::string_view name) {
  const auto number = behind_short_key(name);
  return number && number->size() > 1 && number->front() == '-' &&
         number->find_first_not_of("0123456789", 1) == number->npos;
}

bool is_checkpoint_name(std::string_view name) { return behind_short_key(name) == kCheckpointEnd; }

bool sweep_at_work(const std::string& db) {
  const std::string locks = runs_directory(db) + "/sweeps";
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(locks, error)) {
    if (RunLock::held(locks, file.path().filename().string())) return true;
  }
  return false;
}

std::optional<int64_t> written_ns(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return int64_t{1'000'000'000} * status.st_mtim.tv_sec + status.st_mtim.tv_nsec;
}

}  // namespace approx
