// Reads the files of a folder or of a tar archive, one after the other, into memory. It writes
// nothing to disk, so that an archive cannot overwrite any file.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/data/bytes.h"

namespace approx {

// Limits of an archive, checked before memory is allocated.
struct ArchiveLimits {
  int64_t entries = 200'000;
  int64_t entry_bytes = int64_t{1} << 28;    // one file
  int64_t content_bytes = int64_t{1} << 30;  // of the uncompressed archive, headers included
  int64_t name_bytes = 255;
};

using FileFilter = std::function<bool(std::string_view name)>;
// Receives one file. `place` is for messages ("x.tar.gz: train/cat/1.jpg"), `name` is relative
// ("train/cat/1.jpg"). Returns whether to go on. Only a visit that goes to the end checks the whole
// archive.
using FileVisitor =
    std::function<bool(const std::string& place, std::string_view name, Bytes content)>;

// Calls `visit` for each regular file that `wanted` accepts: sorted by name in a folder, in stored
// order in a .tar or .tar.gz. Skips files that operating systems leave behind (core/data/junk.h)
// before it calls `wanted`, and returns how many it skipped. Throws Error(kData) that names the
// entry for:
// - entries other than regular files and folders (links, devices, sparse files);
// - absolute paths, "..", repeated names, and characters outside printable ASCII;
// - anything over the limits;
// - a truncated archive;
// - any altered byte in a .tar.gz.
int64_t visit_files(const std::string& path, const ArchiveLimits& limits, const FileFilter& wanted,
                    const FileVisitor& visit);

// The folder of a visited file, as messages name it. For the place "x.tar.gz: train/cat/1.jpg" and
// the name "train/cat/1.jpg" it is "x.tar.gz: train/cat". For a file at the top it is the archive
// or folder itself.
std::string folder_text(std::string_view place, std::string_view name);

}  // namespace approx
