#include "results/store/store_file.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <string_view>

namespace approx {
namespace {

namespace fs = std::filesystem;

// The header of an SQLite file (sqlite.org/fileformat.html, 1.3).
constexpr std::string_view kMagic{"SQLite format 3\0", 16};
constexpr size_t kApplicationAt = 68;  // four bytes, the highest first

bool is_store(const fs::path& file) {
  std::array<char, kApplicationAt + 4> header{};
  std::ifstream in(file, std::ios::binary);
  if (!in.read(header.data(), header.size())) return false;
  if (std::string_view(header.data(), kMagic.size()) != kMagic) return false;
  int64_t application = 0;
  for (size_t i = kApplicationAt; i < header.size(); ++i) {
    application = application << 8 | static_cast<unsigned char>(header[i]);
  }
  return application == kApplicationId;
}

}  // namespace

std::vector<std::string> stores_in(const std::string& folder) {
  std::vector<std::string> stores;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end;
       entry.increment(error)) {
    std::error_code unreadable;
    // No pipe: reading one would wait.
    if (entry->path().extension() != ".db" || !fs::is_regular_file(entry->path(), unreadable)) {
      continue;
    }
    if (is_store(entry->path())) stores.push_back(entry->path().filename().string());
  }
  std::sort(stores.begin(), stores.end());
  return stores;
}

}  // namespace approx
