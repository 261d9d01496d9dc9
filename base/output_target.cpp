#include "base/output_target.h"

#include <unistd.h>

#include <filesystem>
#include <optional>
#include <system_error>

#include "base/numbers.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

constexpr int kMostLinks = 40;  // as Linux itself follows

// The descriptor of this process that a file of a folder without links is: /proc/42/fd/1.
std::optional<int64_t> descriptor_of(const fs::path& folder, const std::string& name) {
  const auto own = "/proc/" + std::to_string(::getpid());
  const std::string text = folder.string();
  if (text != own + "/fd" && !(text.starts_with(own + "/task/") && text.ends_with("/fd"))) {
    return std::nullopt;
  }
  return parse_integer(name, 0, 1 << 20);
}

}  // namespace

OutputTarget output_target(const std::string& path) {
  fs::path at = path;
  std::error_code error;
  for (int links = 0; links < kMostLinks; ++links) {
    const auto folder = fs::canonical(at.has_parent_path() ? at.parent_path() : ".", error);
    if (!error) at = folder / at.filename();
    // The links in there lead to names that are none, such as "pipe:[7]".
    if (const auto number = descriptor_of(folder, at.filename().string())) {
      const auto open_on = fs::read_symlink(at, error);
      const bool is_file = !error && fs::is_regular_file(at, error);
      return {.path = is_file ? open_on.string() : "",
              .descriptor = static_cast<int>(*number),
              .is_replaced = false};
    }
    const auto next = fs::read_symlink(at, error);
    if (error) break;
    at = next.is_absolute() ? next : at.parent_path() / next;
  }
  const auto there = fs::status(at, error);
  return {.path = at.string(),
          .descriptor = -1,
          .is_replaced = there.type() == fs::file_type::not_found || fs::is_regular_file(there)};
}

}  // namespace approx
