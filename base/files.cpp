#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <utility>

#include "base/error.h"
#include "base/output_target.h"
#include "base/unfinished.h"

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

// Holds SIGPIPE back for its lifetime, so that a write says EPIPE and does not end the process.
class HeldPipeSignal {
 public:
  HeldPipeSignal() {
    sigset_t waiting;
    sigpending(&waiting);
    was_pending_ = sigismember(&waiting, SIGPIPE) == 1;
    sigemptyset(&signal_);
    sigaddset(&signal_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &signal_, &before_);
  }
  ~HeldPipeSignal() {
    const timespec now{};
    if (!was_pending_) sigtimedwait(&signal_, nullptr, &now);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HeldPipeSignal(const HeldPipeSignal&) = delete;
  HeldPipeSignal& operator=(const HeldPipeSignal&) = delete;

 private:
  sigset_t signal_{}, before_{};
  bool was_pending_ = false;
};

// To a pipe, a device or an open descriptor.
std::error_code write_through(const OutputTarget& target, Bytes bytes) {
  const HeldPipeSignal held;
  std::fflush(stdout);  // what was printed before goes out before
  Descriptor file(target.descriptor >= 0 ? ::fcntl(target.descriptor, F_DUPFD_CLOEXEC, 0)
                                         : ::open(target.path.c_str(), O_WRONLY | O_CLOEXEC));
  if (!file) return last_error();
  const auto error = write_all(file.get(), bytes);
  return error ? error : file.close();
}

// A new file in place of one that is there or not: owner and permissions stay.
std::error_code replace(const std::string& path, Bytes bytes) {
  struct stat before {};
  const bool is_there = ::stat(path.c_str(), &before) == 0;
  // A file that may not be written to is not replaced either, though its folder would let us.
  if (is_there && ::faccessat(AT_FDCWD, path.c_str(), W_OK, AT_EACCESS) != 0) return last_error();
  Unfinished unfinished(unfinished_name(path));
  Descriptor file = open_new(unfinished.path(), O_WRONLY);
  if (!file) return last_error();
  if (is_there) {
    [[maybe_unused]] const int not_ours = ::fchown(file.get(), before.st_uid, before.st_gid);
    if (::fchmod(file.get(), before.st_mode & 07777) != 0) return last_error();
  }
  if (const auto error = write_all(file.get(), bytes)) return error;
  if (::fsync(file.get()) != 0) return last_error();
  if (const auto error = file.close()) return error;
  std::error_code error;
  fs::rename(unfinished.path(), path, error);
  if (!error) unfinished.keep();
  return error;
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
  const auto target = output_target(path);
  const auto error = target.is_replaced ? replace(target.path, to_bytes(text))
                                        : write_through(target, to_bytes(text));
  if (!error) return;
  if (error == std::errc::broken_pipe) {
    throw Error(ErrorKind::kInternal,
                fmt::format("{}: cannot be written: its reader has gone", path));
  }
  throw usage_error("{}: cannot be written ({}); check the folder and its free space", path,
                    error.message());
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

std::error_code make_folder_durably(const std::string& path) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (auto at = fs::absolute(path, error).lexically_normal();
       !at.empty() && !fs::exists(at, error); at = at.parent_path()) {
    if (at.has_filename()) missing.push_back(at);  // "a/" has none, and is "a"
  }
  fs::create_directories(path, error);
  for (const auto& folder : missing) {
    if (!error) error = sync_folder(folder.parent_path().string());
  }
  return error;
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
