// Files that appear whole or not at all.
#pragma once

#include <string>

#include "core/data/bytes.h"

namespace approx {

// An open file descriptor for writing, closed with the object.
class OutputFile {
 public:
  // Opens `path` with the flags of open(2) for writing. Error(kData) that names it.
  OutputFile(std::string path, int flags);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  // Appends all of it; `needed` is the size of the whole file for the message when the disk is
  // full.
  void write(Bytes bytes, int64_t needed);
  // Replaces bytes that were written; what is appended next goes to the end as before.
  void overwrite(int64_t offset, Bytes bytes);
  // To the disk, and closed.
  void sync_and_close();
  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

// Renames `from` to `to` in the same folder and makes that survive a power loss.
void rename_durably(const std::string& from, const std::string& to);

// mkdir -p. Error(kData) that names the folder.
void make_folder(const std::string& path);

}  // namespace approx
