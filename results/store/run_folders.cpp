#include "results/store/run_folders.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "results/store/run_lock.h"

namespace approx {

std::string path_beside(const std::string& db, const std::string& ending) {
  std::filesystem::path path(db);
  // With a dot what is beside "t" would be beside "t.db" as well.
  if (path.extension() != ".db") return db + "-" + ending.substr(1);
  return path.replace_extension().string() + ending;
}

std::string runs_directory(const std::string& db) { return path_beside(db, ".runs"); }

bool is_name_of_short_key(std::string_view name, std::string_view separator) {
  constexpr size_t kDigits = 12;
  const auto is_hex = [](char c) { return ('0' <= c && c <= '9') || ('a' <= c && c <= 'f'); };
  if (name.size() < kDigits || !std::ranges::all_of(name.substr(0, kDigits), is_hex)) return false;
  name.remove_prefix(kDigits);
  if (!name.starts_with(separator)) return false;
  name.remove_prefix(separator.size());
  if (separator == kCheckpointEnd) return name.empty();
  return !name.empty() && std::ranges::all_of(name, [](char c) { return '0' <= c && c <= '9'; });
}

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
