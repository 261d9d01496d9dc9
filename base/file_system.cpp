#include "base/file_system.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <utility>
#include <vector>

#include "base/text.h"

namespace approx {
namespace {

constexpr uint32_t kFuse = 0x65735546;  // virtiofs has it, too

// Magic numbers by linux/magic.h and by the sources of file systems that are no part of Linux.
constexpr auto kNetwork = std::to_array<std::pair<uint32_t, const char*>>({
    {0x6969, "NFS"},
    {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB"},
    {0x517b, "SMB"},
    {0x564c, "NCP"},
    {0x01021997, "9p"},
    {0x5346414f, "AFS"},
    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},
    {0x00c36400, "Ceph"},
    {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},
    {0x19830326, "BeeGFS"},
    {0xaad7aaea, "PanFS"},
    {0x20030528, "OrangeFS"},
    {0x7461636f, "OCFS2"},
    {0x01161970, "GFS2"},
});

// Types of FUSE whose files are elsewhere, also where the source of the mount names no host.
constexpr auto kRemoteTypes = std::to_array<std::string_view>({
    "virtiofs",       "fuse.sshfs",    "fuse.glusterfs",     "fuse.ceph",        "fuse.ceph-fuse",
    "fuse.s3fs",      "fuse.goofys",   "fuse.mountpoint-s3", "fuse.gcsfuse",     "fuse.blobfuse",
    "fuse.blobfuse2", "fuse.rclone",   "fuse.juicefs",       "fuse.davfs",       "fuse.curlftpfs",
    "fuse.httpdirfs", "fuse.mfs",      "fuse.lizardfs",      "fuse.seaweedfs",   "fuse.smbnetfs",
    "fuse.hdfs",      "fuse.fuse_dfs", "fuse.cvmfs2",        "fuse.vmhgfs-fuse", "fuse.prl_fsd",
});

// Such as `user@host:/folder`, `host:/volume`, `//host/share`.
bool names_a_host(std::string_view source) {
  return source.starts_with("//") || source.find(":/") != source.npos || source.ends_with(':');
}

// The type of a FUSE file system if its files are elsewhere. A line of `mounts` is
// `36 35 0:98 /root /mount options fields... - type source options`.
std::string remote_type(const FileSystem& found, std::string_view mounts) {
  const std::string device = fmt::format("{}:{}", found.major, found.minor);
  for (const auto line : split(mounts, "\n")) {
    const auto fields = split(line, " ");
    const auto dash = std::ranges::find(fields, "-");
    if (fields.size() < 3 || fields[2] != device || fields.end() - dash < 3) continue;
    const auto type = dash[1], source = dash[2];
    const bool is_remote = std::ranges::find(kRemoteTypes, type) != kRemoteTypes.end();
    return is_remote || names_a_host(source) ? std::string(type) : "";
  }
  return "";
}

}  // namespace

std::string network_file_system(const FileSystem& found, std::string_view mounts) {
  if (found.magic == kFuse) return remote_type(found, mounts);
  for (const auto& [magic, name] : kNetwork) {
    if (magic == found.magic) return name;
  }
  return "";
}

std::string network_file_system(const std::string& path) {
  struct statfs system {};
  struct stat file {};
  if (::statfs(path.c_str(), &system) != 0 || ::stat(path.c_str(), &file) != 0) return "";
  std::ifstream in("/proc/self/mountinfo");
  const std::string mounts{std::istreambuf_iterator<char>(in), {}};
  return network_file_system({.magic = static_cast<uint32_t>(system.f_type),
                              .major = major(file.st_dev),
                              .minor = minor(file.st_dev)},
                             mounts);
}

}  // namespace approx
