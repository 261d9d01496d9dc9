#include "core/data/junk.h"

#include <algorithm>
#include <filesystem>

namespace approx {
namespace {

// `b` is in small letters.
bool same_in_any_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](char x, char y) { return (x >= 'A' && x <= 'Z' ? x - 'A' + 'a' : x) == y; });
}

}  // namespace

bool is_junk(std::string_view name) {
  size_t slash = 0;
  for (; (slash = name.find('/')) != std::string_view::npos; name.remove_prefix(slash + 1)) {
    if (name.substr(0, slash) == "__MACOSX") return true;
  }
  return name == ".DS_Store" || name.starts_with("._") || same_in_any_case(name, "thumbs.db") ||
         same_in_any_case(name, "desktop.ini");
}

int64_t count_junk(const std::string& folder) {
  namespace fs = std::filesystem;
  int64_t count = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    count += !it->is_directory(ignored) && is_junk(it->path().filename().string());
  }
  return count;
}

}  // namespace approx
