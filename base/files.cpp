#include "base/files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

std::error_code last_error() { return {errno, std::generic_category()}; }

std::ifstream open_regular(const std::string& path) {
  std::error_code error;
  const auto status = fs::status(path, error);
  if (!fs::exists(status)) throw data_error("{}: no such file", path);
  if (!fs::is_regular_file(status)) throw data_error("{}: not a regular file", path);
  std::ifstream file(path, std::ios::binary);
  if (!file) throw data_error("{}: cannot be opened: {}", path, std::strerror(errno));
  return file;
}

}  // namespace

Bytes to_bytes(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

Descriptor& Descriptor::operator=(Descriptor&& other) noexcept {
  if (this != &other) {
    close();
    descriptor_ = other.release();
  }
  return *this;
}

int Descriptor::release() { return std::exchange(descriptor_, -1); }

std::error_code Descriptor::close() {
  if (descriptor_ < 0) return {};
  return ::close(release()) == 0 ? std::error_code() : last_error();
}

std::vector<uint8_t> read_file(const std::string& path, int64_t limit) {
  auto file = open_regular(path);
  const auto size = static_cast<int64_t>(fs::file_size(path));
  if (size > limit) {
    throw data_error("{}: expected at most {} bytes, found {}", path, limit, size);
  }
  std::vector<uint8_t> bytes(static_cast<size_t>(size));
  file.read(reinterpret_cast<char*>(bytes.data()), size);
  if (file.gcount() != size) {
    throw data_error("{}: at byte {}: expected {} bytes, found the end of the file", path,
                     file.gcount(), size);
  }
  return bytes;
}

bool is_plain_file(const std::filesystem::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(fs::symlink_status(path, ignored));
}

void for_each_piece(const std::string& path, const std::function<void(Bytes)>& piece) {
  auto file = open_regular(path);
  std::string buffer(1 << 20, '\0');
  while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())), file.gcount() > 0) {
    piece(to_bytes(std::string_view(buffer).substr(0, static_cast<size_t>(file.gcount()))));
  }
  if (file.bad()) throw data_error("{}: cannot be read: {}", path, std::strerror(errno));
}

Descriptor open_new(const std::string& path, int flags, mode_t mode) {
  ::unlink(path.c_str());
  return Descriptor(::open(path.c_str(), flags | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode));
}

void write_file(const std::string& path, std::string_view text) {
  // A device or a pipe is written to; to put a file in its place would be the end of it.
  std::error_code ignored;
  const auto there = fs::status(path, ignored);
  const bool replaced = !fs::exists(there) || fs::is_regular_file(there);
  const std::string unfinished = fmt::format("{}.{}", path, ::getpid());
  Descriptor file = replaced ? open_new(unfinished, O_WRONLY)
                             : Descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
  std::error_code error = file ? write_all(file.get(), to_bytes(text)) : last_error();
  if (!error) error = file.close();
  if (!error && replaced) fs::rename(unfinished, path, error);
  if (error) {
    if (replaced) fs::remove(unfinished, ignored);
    throw usage_error("{}: cannot be written ({}); check the folder and its free space", path,
                      error.message());
  }
}

std::error_code write_all(int descriptor, Bytes bytes) {
  while (!bytes.empty()) {
    const auto n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return last_error();
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
  return {};
}

std::error_code write_synced(const std::string& path, Bytes bytes) {
  Descriptor file(
      ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0666));
  if (!file) return last_error();
  if (const auto error = write_all(file.get(), bytes)) return error;
  if (::fsync(file.get()) != 0) return last_error();
  return file.close();
}

std::error_code sync_folder(const std::string& folder) {
  const Descriptor file(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // Some file systems have no fsync of folders; there is nothing more to be done on them.
  if (file && (::fsync(file.get()) == 0 || errno == EINVAL)) return {};
  return last_error();
}

std::error_code rename_durably(const std::string& from, const std::string& to) {
  std::error_code error;
  fs::rename(from, to, error);
  return error ? error : sync_folder(fs::absolute(to).parent_path().string());
}

void make_folder(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) throw data_error("{}: the folder cannot be made: {}", path, error.message());
}

OutputFile::OutputFile(std::string path, int flags)
    : path_(std::move(path)),
      file_((flags & O_EXCL) != 0 ? open_new(path_, flags, 0644)
                                  : Descriptor(::open(path_.c_str(), flags | O_CLOEXEC, 0644))) {
  if (!file_) throw data_error("{}: cannot be written: {}", path_, std::strerror(errno));
}

void OutputFile::write(Bytes bytes, int64_t needed) {
  if (const auto error = write_all(file_.get(), bytes)) {
    throw data_error("{}: cannot be written: {}; it needs {} bytes", path_, error.message(),
                     needed);
  }
}

void OutputFile::overwrite(int64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const auto n = ::pwrite(file_.get(), bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw data_error("{}: cannot be written: {}", path_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += n;
  }
}

void OutputFile::sync_and_close() {
  const auto synced = ::fsync(file_.get()) == 0 ? std::error_code() : last_error();
  const auto closed = file_.close();
  if (synced || closed) {
    throw data_error("{}: cannot be written: {}", path_, (synced ? synced : closed).message());
  }
}

std::vector<fs::path> program_folders(const std::string& name) {
  std::vector<fs::path> folders;
  std::error_code error;
  const auto program = fs::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto prefix = program.parent_path().parent_path();
    folders.push_back(prefix / name);
    folders.push_back(prefix / "share" / "approxtrain" / name);
  }
  return folders;
}

}  // namespace approx
