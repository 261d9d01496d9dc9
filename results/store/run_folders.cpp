#include "results/store/run_folders.h"

#include <sys/stat.h>

#include <filesystem>

namespace approx {

std::string path_beside(const std::string& db, const std::string& ending) {
  std::filesystem::path path(db);
  // With a dot what is beside "t" would be beside "t.db" as well.
  if (path.extension() != ".db") return db + "-" + ending.substr(1);
  return path.replace_extension().string() + ending;
}

std::string runs_directory(const std::string& db) { return path_beside(db, ".runs"); }

std::optional<int64_t> written_ns(const std::string& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return int64_t{1'000'000'000} * status.st_mtim.tv_sec + status.st_mtim.tv_nsec;
}

}  // namespace approx
