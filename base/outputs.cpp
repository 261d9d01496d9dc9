#include "base/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <compare>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files.h"
#include "base/output_target.h"

namespace approx {
namespace {

namespace fs = std::filesystem;
using namespace std::string_view_literals;

constexpr const char* kIsRead = "is read by this command";

// Identifies a file on this machine: a device and an inode.
using Identity = std::pair<dev_t, ino_t>;

std::optional<Identity> identity_of(const fs::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return Identity(status.st_dev, status.st_ino);
}

struct Kept {
  std::string path, why;
  bool is_folder = false;
  auto operator<=>(const Kept&) const = default;
};

std::mutex kept_mutex;  // of `kept`

std::set<Kept>& kept() {
  static std::set<Kept> all;
  return all;
}

std::set<Kept> all_kept() {
  const std::lock_guard lock(kept_mutex);
  return kept();
}

// A file of several names may have one in a folder that is kept, and links in there may lead to a
// file elsewhere.
bool has_file(const fs::path& folder, const Identity& file, bool has_names) {
  std::error_code error;
  fs::recursive_directory_iterator entry(folder, fs::directory_options::skip_permission_denied,
                                         error);
  for (; !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
    std::error_code ignored;
    const bool may_be = entry->is_symlink(ignored) || (has_names && !entry->is_directory(ignored));
    if (may_be && identity_of(entry->path()) == file) return true;
  }
  return false;
}

// Whether one of the folders above `path` is linked from inside `folder`: checkpoints on another
// disk.
bool is_linked_from(const fs::path& folder, const fs::path& path) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (!entry.is_symlink(ignored) || !entry.is_directory(ignored)) continue;
    for (auto above = path.parent_path(); above.has_relative_path(); above = above.parent_path()) {
      if (is_same_place(entry.path().string(), above.string())) return true;
    }
  }
  return false;
}

// Whether `path`, without links, is that folder or in it.
bool is_within(const Kept& folder, const fs::path& path) {
  for (auto at = path; at.has_relative_path(); at = at.parent_path()) {
    if (is_same_place(folder.path, at.string())) return true;
  }
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
      has_file(folder.path, {status.st_dev, status.st_ino}, status.st_nlink > 1)) {
    return true;
  }
  return is_linked_from(folder.path, path);
}

// What a file is that nobody means to be replaced, by its first bytes; "" of any other.
std::string_view kept_kind(const std::string& path) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kKinds = {
      {{"SQLite format 3\0"sv, "a database"},
       {"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"sv, "the journal of a database"},
       {"APXDATA\n"sv, kPackedDataSet},
       {"APTXOPER"sv, "recorded operands"},
       {"APTXCKPT"sv, "a checkpoint"}}};
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";  // to open a pipe would let its writer go on
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) return "";
  std::array<char, 16> bytes{};
  const auto n = ::read(file.get(), bytes.data(), bytes.size());
  const std::string_view begin(bytes.data(), static_cast<size_t>(std::max<ssize_t>(n, 0)));
  for (const auto& [magic, kind] : kKinds) {
    if (begin.starts_with(magic)) return kind;
  }
  return "";
}

void keep(Kept entry) {
  const std::lock_guard lock(kept_mutex);
  kept().insert(std::move(entry));
}

}  // namespace

bool is_same_place(const std::string& a, const std::string& b) {
  const auto first = identity_of(a), second = identity_of(b);
  if (first || second) return first == second;
  std::error_code error;
  const fs::path left = fs::weakly_canonical(a, error), right = fs::weakly_canonical(b, error);
  return !left.empty() && left == right;
}

void keep_file(const std::string& path, const std::string& why) {
  struct stat out {};
  if (::fstat(STDOUT_FILENO, &out) == 0 && S_ISREG(out.st_mode) &&
      identity_of(path) == Identity(out.st_dev, out.st_ino)) {
    throw usage_error("standard output: {} {}; choose another file", path, why);
  }
  keep({.path = path, .why = why, .is_folder = false});
}

void keep_folder(const std::string& path, const std::string& why) {
  keep({.path = path, .why = why, .is_folder = true});
}

void note_input(const std::string& path) { keep_file(path, kIsRead); }

bool is_input(const std::string& path) {
  return std::ranges::any_of(all_kept(), [&](const Kept& entry) {
    return entry.why == kIsRead && is_same_place(entry.path, path);
  });
}

void check_output(const std::string& path, std::string_view replaced) {
  const auto target = output_target(path);
  if (target.path.empty()) return;  // a pipe
  // Follows folders that exist, and keeps the names of those that do not exist yet.
  std::error_code error;
  const fs::path file = fs::weakly_canonical(target.path, error);
  for (const auto& entry : all_kept()) {
    const bool is_kept = entry.is_folder ? is_within(entry, error ? fs::path(target.path) : file)
                                         : is_same_place(entry.path, target.path);
    if (is_kept) throw usage_error("{}: {}; choose another name", path, entry.why);
  }
  const std::string_view kind = kept_kind(target.path);
  if (!kind.empty() && kind != replaced) {
    throw usage_error("{}: holds {}, which no output replaces; choose another name", path, kind);
  }
}

void write_output(const std::string& path, std::string_view text) {
  check_output(path);
  write_file(path, text);
}

}  // namespace approx
