// Reads whole files, and writes files either completely or not at all.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace approx {

using Bytes = std::span<const uint8_t>;

// The bytes of a text, without a copy.
Bytes to_bytes(std::string_view text);

// An open file descriptor, closed with the object; a negative one means none.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  // Returns the descriptor without closing it; the object then has none.
  int release();
  // Closes the descriptor now. Returns the error of close(2), which on some file systems is where a
  // write fails.
  std::error_code close();

 private:
  int descriptor_;
};

// Whether `path` is a regular file, and not a link to one. A folder from elsewhere may contain
// other files that never end, or that block when they are opened.
bool is_plain_file(const std::filesystem::path& path);

// The content of a regular file of at most `limit` bytes. Throws Error(kData), which names the
// file, otherwise.
std::vector<uint8_t> read_file(const std::string& path, int64_t limit);

// Calls `piece` with the content of a regular file, piece by piece. Throws as read_file does.
void for_each_piece(const std::string& path, const std::function<void(Bytes)>& piece);

// Opens a new file whose name belongs only to a process of our number, to be renamed or unlinked
// later. A file that already has the name, left over or placed there by somebody, is removed. It is
// never followed or written to. Empty, with errno set, where no file can be made.
Descriptor open_new(const std::string& path, int flags, mode_t mode = 0666);

// Writes a file with that text, replacing any that exists, completely or not at all. It writes
// under another name beside it, and renames that file once it is on the disk. Owner and permissions
// of the replaced file stay; a link is followed. A device, a pipe or an open descriptor
// (/dev/stdout, /dev/fd/3) is written to directly. Throws Error(kUsage), which names the file, and
// Error(kInternal) for a pipe that nobody reads.
void write_file(const std::string& path, std::string_view text);

// Writes all of `bytes` to an open descriptor, in as many calls as needed.
std::error_code write_all(int descriptor, Bytes bytes);

// Writes a new file with these bytes, which are on the disk on return. After an error part of the
// file may exist.
std::error_code write_synced(const std::string& path, Bytes bytes);

// Makes created and renamed files of a folder survive a power loss, on file systems that can.
std::error_code sync_folder(const std::string& folder);

// Renames `from` to `to` in one folder, and makes that survive a power loss.
std::error_code rename_durably(const std::string& from, const std::string& to);

// Makes a folder and its parents (mkdir -p), and makes those that were missing survive a power
// loss.
std::error_code make_folder_durably(const std::string& path);

// Makes a folder and its parents (mkdir -p). Throws Error(kData), which names the folder.
void make_folder(const std::string& path);

// A file that is written from its beginning and then synchronised to the disk.
class OutputFile {
 public:
  // Opens `path` with the flags of open(2) for writing, with O_EXCL as open_new does. Throws
  // Error(kData), which names the file, as the other functions here do.
  OutputFile(std::string path, int flags);

  // Appends all of `bytes`. `needed` is the size of the whole file, for the message when the disk
  // is full.
  void write(Bytes bytes, int64_t needed);
  // Replaces bytes that were written. Later appends still go to the end.
  void overwrite(int64_t offset, Bytes bytes);
  // Synchronises the file to the disk and closes it.
  void sync_and_close();
  int descriptor() const { return file_.get(); }

 private:
  std::string path_;
  Descriptor file_;
};

// Folders for files that come with the program; the first match is used. They are `name` beside the
// program's own folder (a checkout), and in ../share/approxtrain (an installation). The working
// directory is not among them, since anybody's files may be there.
std::vector<std::filesystem::path> program_folders(const std::string& name);

}  // namespace approx
