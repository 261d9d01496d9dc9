#include "core/data/file_sync.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace approx {

OutputFile::OutputFile(std::string path, int flags)
    : path_(std::move(path)), descriptor_(::open(path_.c_str(), flags | O_CLOEXEC, 0644)) {
  if (descriptor_ < 0) throw data_error("{}: cannot be written: {}", path_, std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::write(Bytes bytes, int64_t needed) {
  while (!bytes.empty()) {
    const auto n = ::write(descriptor_, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      throw data_error("{}: cannot be written: {}; it needs {} bytes", path_, std::strerror(errno),
                       needed);
    }
    bytes = bytes.subspan(static_cast<size_t>(n));
  }
}

void OutputFile::overwrite(int64_t offset, Bytes bytes) {
  while (!bytes.empty()) {
    const auto n = ::pwrite(descriptor_, bytes.data(), bytes.size(), offset);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) throw data_error("{}: cannot be written: {}", path_, std::strerror(errno));
    bytes = bytes.subspan(static_cast<size_t>(n));
    offset += n;
  }
}

void OutputFile::sync_and_close() {
  const bool synced = ::fsync(descriptor_) == 0;
  const int error = errno;
  const bool closed = ::close(descriptor_) == 0;
  descriptor_ = -1;
  if (!synced || !closed) {
    throw data_error("{}: cannot be written: {}", path_, std::strerror(synced ? errno : error));
  }
}

void rename_durably(const std::string& from, const std::string& to) {
  if (::rename(from.c_str(), to.c_str()) != 0) {
    throw data_error("{}: cannot be renamed to {}: {}", from, to, std::strerror(errno));
  }
  const auto parent = std::filesystem::path(to).parent_path();
  const auto folder = std::filesystem::absolute(parent).string();
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  const int error = errno;
  if (descriptor >= 0) ::close(descriptor);
  // Some file systems have no fsync of folders; there is nothing more to be done on them.
  if (!synced && error != EINVAL) {
    throw data_error("{}: cannot be synchronised: {}", folder, std::strerror(error));
  }
}

void make_folder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error) throw data_error("{}: the folder cannot be made: {}", path, error.message());
}

}  // namespace approx
