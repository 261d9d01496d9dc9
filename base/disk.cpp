#include "base/disk.h"

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

std::optional<int64_t> stored_bytes(const fs::path& path) {
  std::error_code error;
  if (!fs::is_directory(path, error)) {
    const auto size = fs::file_size(path, error);
    return error ? std::nullopt : std::optional(static_cast<int64_t>(size));
  }
  int64_t sum = 0;
  for (const auto& file : fs::recursive_directory_iterator(path, error)) {
    if (!file.is_regular_file(error)) continue;
    const auto size = file.file_size(error);
    if (!error) sum += static_cast<int64_t>(size);
  }
  return sum;
}

std::optional<int64_t> free_bytes(const std::string& folder) {
  std::error_code error;
  const auto space = fs::space(folder, error);
  if (error) return std::nullopt;
  return static_cast<int64_t>(space.available);
}

}  // namespace approx
