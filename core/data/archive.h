// The files of a folder or of a tar archive, one after the other, in memory: nothing is ever
// extracted to disk, so an archive cannot write anywhere.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "core/data/bytes.h"

namespace approx {

// What an archive may hold at most, checked before anything is allocated.
struct ArchiveLimits {
  int64_t entries = 200'000;
  int64_t entry_bytes = int64_t{1} << 28;    // one file
  int64_t content_bytes = int64_t{1} << 30;  // of the uncompressed archive, headers included
  int64_t name_bytes = 255;
};

using FileFilter = std::function<bool(std::string_view name)>;
// `place` is for messages ("x.tar.gz: train/cat/1.jpg"), `name` is relative ("train/cat/1.jpg").
// Returns whether to go on; an archive is only checked to its end by a visit that goes there.
using FileVisitor =
    std::function<bool(const std::string& place, std::string_view name, Bytes content)>;

// Calls `visit` for each regular file that `wanted` accepts: in a folder by name, in a .tar or
// .tar.gz as they come. Error(kData) names the entry for everything else than regular files and
// folders (links, devices, sparse files), for absolute paths, "..", names that are repeated or have
// characters outside printable ASCII, for anything over the limits, for a truncated archive and,
// in a .tar.gz, for any altered byte. Files that operating systems leave (core/data/junk.h) are
// skipped before `wanted` is asked; returns how many of them it came by.
int64_t visit_files(const std::string& path, const ArchiveLimits& limits, const FileFilter& wanted,
                    const FileVisitor& visit);

// The folder in which a visited file lies, as messages name it: "x.tar.gz: train/cat" for the place
// "x.tar.gz: train/cat/1.jpg" and the name "train/cat/1.jpg". At the top it is the archive or
// folder itself.
std::string folder_text(std::string_view place, std::string_view name);

}  // namespace approx
