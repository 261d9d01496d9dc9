#include "cli/disk.h"

#include <system_error>

namespace approx {

namespace fs = std::filesystem;

std::string existing_folder(fs::path path) {
  std::error_code error;
  while (!path.empty() && path.has_relative_path() && !fs::is_directory(path, error)) {
    path = path.parent_path();
  }
  return path.string();
}

std::optional<int64_t> free_bytes(const std::string& folder) {
  std::error_code error;
  const auto space = fs::space(folder, error);
  if (error) return std::nullopt;
  return static_cast<int64_t>(space.available);
}

}  // namespace approx
