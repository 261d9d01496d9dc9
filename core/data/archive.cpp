#include "core/data/archive.h"

#include <archive.h>
#include <archive_entry.h>
#include <sys/stat.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <new>
#include <optional>
#include <set>
#include <vector>

#include "core/data/junk.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

// Throws unless `name` stays inside the archive and is plain text; returns it without parts that
// are "." or empty, so that a file has one name.
std::string checked_name(const char* raw, const std::string& place, const ArchiveLimits& limits) {
  if (raw == nullptr || *raw == '\0') {
    throw data_error("{}: expected a name for every entry, found none that can be read", place);
  }
  std::string_view name = raw;
  if (static_cast<int64_t>(name.size()) > limits.name_bytes) {
    throw data_error("{}: expected names of at most {} bytes, found one of {}", place,
                     limits.name_bytes, name.size());
  }
  if (!std::all_of(name.begin(), name.end(), [](char c) { return c >= ' ' && c <= '~'; })) {
    throw data_error("{}: expected names in printable ASCII, found one with other bytes", place);
  }
  const auto refuse = [&](const char* why) {
    return data_error("{}: entry \"{}\" is refused: {}", place, name, why);
  };
  if (name.find('\\') != name.npos) throw refuse("a backslash in its path");
  while (name.starts_with("./")) name.remove_prefix(2);
  if (name.starts_with('/')) throw refuse("an absolute path");
  std::string checked;
  for (size_t at = 0; at <= name.size();) {
    const auto end = std::min(name.find('/', at), name.size());
    const auto part = name.substr(at, end - at);
    if (part == "..") throw refuse("\"..\" in its path");
    if (!part.empty() && part != ".") checked.append(checked.empty() ? "" : "/").append(part);
    at = end + 1;
  }
  return checked;
}

// The uncompressed bytes of an archive file, counted against the limit.
class Source {
 public:
  Source(const std::string& path, const ArchiveLimits& limits)
      : path_(path), limit_(limits.content_bytes), file_(path, std::ios::binary) {
    if (!file_) throw data_error("{}: cannot be opened", path);
    const auto head = next_compressed();
    if (head.empty()) throw data_error("{}: at byte 0: expected an archive, found no bytes", path);
    file_.clear();
    file_.seekg(0);
    if (is_gzip(head)) gzip_.emplace([this] { return next_compressed(); }, path);
  }

  // The next piece, empty at the end, where an archive must have shown its end mark.
  Bytes next() {
    Bytes piece;
    if (gzip_) {
      content_.resize(1 << 16);
      piece = Bytes(content_).first(gzip_->read(content_));
    } else {
      piece = next_compressed();
    }
    read_ += static_cast<int64_t>(piece.size());
    if (read_ > limit_) {
      throw data_error("{}: expected at most {} bytes of content, found more", path_, limit_);
    }
    const auto last = std::find_if(piece.rbegin(), piece.rend(), [](uint8_t b) { return b != 0; });
    const auto zeros = last - piece.rbegin();
    zeros_ = zeros == static_cast<ptrdiff_t>(piece.size()) ? zeros_ + zeros : zeros;
    return piece;
  }

  // Reads what libarchive left, which ends with the checksum of a gzip file, and checks that the
  // two empty blocks at the end of a tar archive are there.
  void finish() {
    while (!next().empty()) {
    }
    constexpr int64_t kBlock = 512, kEndMark = 2 * kBlock;
    if (zeros_ < kEndMark || read_ % kBlock != 0) {
      throw data_error(
          "{}: at byte {}: expected the end mark of a tar archive, found the end of "
          "the file; it is truncated",
          path_, read_);
    }
  }

  std::exception_ptr failure;  // thrown below libarchive's C frames, kept for above them

 private:
  Bytes next_compressed() {
    raw_.resize(1 << 16);
    file_.read(reinterpret_cast<char*>(raw_.data()), static_cast<std::streamsize>(raw_.size()));
    return Bytes(raw_).first(static_cast<size_t>(file_.gcount()));
  }

  std::string path_;
  int64_t limit_;
  std::ifstream file_;
  std::optional<GzipReader> gzip_;
  std::vector<uint8_t> raw_, content_;
  int64_t read_ = 0, zeros_ = 0;
};

la_ssize_t read_source(archive* /*reader*/, void* client, const void** buffer) {
  auto& source = *static_cast<Source*>(client);
  try {
    const auto piece = source.next();
    *buffer = piece.data();
    return static_cast<la_ssize_t>(piece.size());
  } catch (...) {
    source.failure = std::current_exception();
    return -1;
  }
}

int64_t visit_archive(const std::string& path, const ArchiveLimits& limits,
                      const FileFilter& wanted, const FileVisitor& visit) {
  Source source(path, limits);
  std::unique_ptr<archive, decltype(&archive_read_free)> reader(archive_read_new(),
                                                                &archive_read_free);
  if (reader == nullptr) throw std::bad_alloc();
  archive_read_support_format_tar(reader.get());
  const auto check = [&](int status) {
    if (source.failure) std::rethrow_exception(source.failure);
    if (status == ARCHIVE_OK || status == ARCHIVE_EOF) return;
    const char* why = archive_error_string(reader.get());
    // Below 0 before the first header.
    const auto at = std::max<la_int64_t>(0, archive_read_header_position(reader.get()));
    throw data_error("{}: at byte {}: expected a tar archive, found: {}", path, at,
                     why ? why : "damage");
  };
  check(archive_read_open(reader.get(), &source, nullptr, read_source, nullptr));

  std::set<std::string, std::less<>> seen;
  std::vector<uint8_t> content;
  archive_entry* entry = nullptr;
  int64_t junk = 0;
  for (int64_t entries = 0;; ++entries) {
    const int status = archive_read_next_header(reader.get(), &entry);
    check(status);
    if (status == ARCHIVE_EOF) break;
    if (entries >= limits.entries) {
      throw data_error("{}: expected at most {} entries, found more", path, limits.entries);
    }
    const auto name = checked_name(archive_entry_pathname(entry), path, limits);
    const auto refuse = [&](const std::string& why) {
      return data_error("{}: entry \"{}\" is refused: {}", path, name, why);
    };
    const auto type = archive_entry_filetype(entry);
    if (type == AE_IFDIR) continue;
    if (is_junk(name)) {
      ++junk;
      continue;
    }
    if (archive_entry_hardlink(entry) != nullptr) throw refuse("a hard link");
    if (type == AE_IFLNK) throw refuse("a symbolic link");
    if (type != AE_IFREG) throw refuse("neither a file nor a folder");
    if (archive_entry_sparse_count(entry) > 0) throw refuse("a sparse file");
    if (!seen.insert(name).second) throw refuse("its name occurs twice");
    const int64_t size = archive_entry_size(entry);
    if (!archive_entry_size_is_set(entry) || size < 0) throw refuse("its size is impossible");
    if (size > limits.entry_bytes) {
      throw refuse(fmt::format("{} bytes, {} are allowed", size, limits.entry_bytes));
    }
    if (!wanted(name)) continue;
    content.resize(static_cast<size_t>(size));
    size_t filled = 0;
    while (filled < content.size()) {
      const auto n =
          archive_read_data(reader.get(), content.data() + filled, content.size() - filled);
      if (n < 0) check(static_cast<int>(n));
      if (n <= 0) break;
      filled += static_cast<size_t>(n);
    }
    if (filled != content.size()) {
      throw data_error("{}: entry \"{}\": at byte {}: expected {} bytes, found the end of the file",
                       path, name, filled, size);
    }
    if (!visit(fmt::format("{}: {}", path, name), name, content)) return junk;
  }
  source.finish();
  return junk;
}

int64_t visit_folder(const std::string& path, const ArchiveLimits& limits, const FileFilter& wanted,
                     const FileVisitor& visit) {
  std::vector<std::string> names;
  int64_t entries = 0, total = 0, junk = 0;
  std::error_code error;
  for (fs::recursive_directory_iterator it(path, error), end; !error && it != end;
       it.increment(error)) {
    if (++entries > limits.entries) {
      throw data_error("{}: expected at most {} entries, found more", path, limits.entries);
    }
    const auto name = it->path().lexically_relative(path).generic_string();
    const auto status = it->symlink_status(error);
    if (error) break;
    if (!fs::is_directory(status) && is_junk(name)) {
      ++junk;
      continue;
    }
    std::error_code ignored;
    if (fs::is_symlink(status) && fs::is_directory(it->path(), ignored)) {
      throw data_error("{}/{}: is refused: expected a folder, found a link to one", path, name);
    }
    if (fs::is_directory(status) || !wanted(name)) continue;
    if (!fs::is_regular_file(status)) {
      throw data_error("{}/{}: is refused: expected a regular file, found a link or device", path,
                       name);
    }
    names.push_back(checked_name(name.c_str(), path, limits));
  }
  if (error) throw data_error("{}: cannot be read: {}", path, error.message());
  std::sort(names.begin(), names.end());
  for (const auto& name : names) {
    const auto place = path + "/" + name;
    const auto content = read_file(place, limits.entry_bytes);
    total += static_cast<int64_t>(content.size());
    if (total > limits.content_bytes) {
      throw data_error("{}: expected at most {} bytes of content, found more", path,
                       limits.content_bytes);
    }
    if (!visit(place, name, content)) return junk;
  }
  return junk;
}

}  // namespace

int64_t visit_files(const std::string& path, const ArchiveLimits& limits, const FileFilter& wanted,
                    const FileVisitor& visit) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw data_error("{}: no such file or folder", path);
  if (fs::is_directory(status)) return visit_folder(path, limits, wanted, visit);
  if (fs::is_regular_file(status)) return visit_archive(path, limits, wanted, visit);
  throw data_error("{}: expected a folder or an archive, found neither", path);
}

std::string folder_text(std::string_view place, std::string_view name) {
  auto folder = place.substr(0, place.size() - name.size());
  if (const auto slash = name.rfind('/'); slash != name.npos) {
    return std::string(folder) + std::string(name.substr(0, slash));
  }
  while (folder.ends_with('/') || folder.ends_with(' ') || folder.ends_with(':')) {
    folder.remove_suffix(1);
  }
  return std::string(folder);
}

}  // namespace approx
