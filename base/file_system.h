// Finds out whether other machines may use the same files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace approx {

// The file system that holds a file.
struct FileSystem {
  uint32_t magic = 0;             // statfs(2): f_type
  unsigned major = 0, minor = 0;  // of its device: stat(2), st_dev
};

// The name of a network file system such as "NFS", "CIFS" or "fuse.sshfs"; "" for a local one and
// an unknown one. FUSE gives one magic number to local and remote file systems. They are told apart
// by the line of the device in `mounts`, the text of /proc/self/mountinfo.
std::string network_file_system(const FileSystem& found, std::string_view mounts);

// As above, for a path. A link is followed; "" where nothing is there.
std::string network_file_system(const std::string& path);

}  // namespace approx
