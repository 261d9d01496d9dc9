#include "results/store/run_folders.h"

#include <filesystem>

namespace approx {

std::string runs_directory(const std::string& db) {
  // Of "results.v1" and "results.v2" each has its own.
  const std::filesystem::path path(db);
  return (path.extension() == ".db" ? std::filesystem::path(path).replace_extension() : path)
             .string() +
         ".runs";
}

}  // namespace approx
