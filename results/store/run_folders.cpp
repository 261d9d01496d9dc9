#include "results/store/run_folders.h"

#include <filesystem>

namespace approx {

std::string path_beside(const std::string& db, const std::string& ending) {
  std::filesystem::path path(db);
  if (path.extension() == ".db") path.replace_extension();
  return path.string() + ending;
}

std::string runs_directory(const std::string& db) { return path_beside(db, ".runs"); }

}  // namespace approx
