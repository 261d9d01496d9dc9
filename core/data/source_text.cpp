#include "core/data/source_text.h"

#include <filesystem>

#include "base/digest.h"

namespace approx {

std::string source_text(const std::string& path, const std::string& published_md5) {
  auto normal = std::filesystem::path(path).lexically_normal();
  if (!normal.has_filename()) normal = normal.parent_path();
  auto text = normal.filename().string();
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return text;
  const auto md5 = file_digest_hex("md5", path);
  text += ", md5 " + md5;
  if (!published_md5.empty()) {
    text += md5 == published_md5 ? " (the publisher's)" : " (not the publisher's archive)";
  }
  return text;
}

}  // namespace approx
