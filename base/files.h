// Files read whole and written whole or not at all.
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

// A text as bytes, not copied.
Bytes to_bytes(std::string_view text);

// An open file descriptor, closed with the object; below 0: none.
class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~Descriptor() { close(); }
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept;

  int get() const { return descriptor_; }
  explicit operator bool() const { return descriptor_ >= 0; }

  // Gives it up without closing it.
  int release();
  // At once. What close(2) says, which for some file systems is where writing fails.
  std::error_code close();

 private:
  int descriptor_;
};

// A regular file, and no link to one: what a folder that came from elsewhere may hold instead has
// no end or makes who opens it wait.
bool is_plain_file(const std::filesystem::path& path);

// The whole of a regular file of at most `limit` bytes. Error(kData) that names the file otherwise.
std::vector<uint8_t> read_file(const std::string& path, int64_t limit);

// The content of a regular file, piece by piece. Errors as above.
void for_each_piece(const std::string& path, const std::function<void(Bytes)>& piece);

// A new file under a name that only a process of our number has, to be renamed or to lose its name:
// what is there already, left over or laid out for us, is removed and never followed or written
// to. Empty where there is none, with errno.
Descriptor open_new(const std::string& path, int flags, mode_t mode = 0666);

// Writes a file of that text in place of any that is there, whole or not at all: under another name
// beside it, which is on the disk when it is renamed. Owner and permissions of one that was there
// stay; a link is followed. A device, a pipe or an open descriptor (/dev/stdout, /dev/fd/3) is
// written to. Error(kUsage) that names the file; Error(kInternal) of a pipe that nobody reads.
void write_file(const std::string& path, std::string_view text);

// All of `bytes` to an open descriptor, however many calls that takes.
std::error_code write_all(int descriptor, Bytes bytes);

// A new file with these bytes, on the disk when this returns. Where there is an error, part of it
// may be there.
std::error_code write_synced(const std::string& path, Bytes bytes);

// Makes what was created and renamed in a folder survive a power loss, on file systems that can.
std::error_code sync_folder(const std::string& folder);

// Renames `from` to `to` in the same folder and makes that survive a power loss.
std::error_code rename_durably(const std::string& from, const std::string& to);

// mkdir -p. Error(kData) that names the folder.
void make_folder(const std::string& path);

// A file that is written from its beginning on and then brought to the disk.
class OutputFile {
 public:
  // Opens `path` with the flags of open(2) for writing, with O_EXCL as open_new does. Error(kData)
  // that names it, as below.
  OutputFile(std::string path, int flags);

  // Appends all of it; `needed` is the size of the whole file for the message when the disk is
  // full.
  void write(Bytes bytes, int64_t needed);
  // Replaces bytes that were written; what is appended next goes to the end as before.
  void overwrite(int64_t offset, Bytes bytes);
  // To the disk, and closed.
  void sync_and_close();
  int descriptor() const { return file_.get(); }

 private:
  std::string path_;
  Descriptor file_;
};

// Where files that come with the program are looked for, the first match wins: `name` beside the
// program's own folder (a checkout) and in ../share/approxtrain (an installation). Not in the
// working directory, whose files may be anybody's.
std::vector<std::filesystem::path> program_folders(const std::string& name);

}  // namespace approx
