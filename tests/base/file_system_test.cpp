#include "base/file_system.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

namespace approx::testing {
namespace {

constexpr uint32_t kFuseMagic = 0x65735546;

// A FUSE file system that is mounted from `source`, among others.
std::string fuse(const std::string& type, const std::string& source) {
  const std::string mounts = fmt::format(
      "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
      "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard\n"
      "90 27 0:50 / /mnt/my\\040files rw shared:7 master:1 - {} {} rw,user_id=0\n"
      "91 27 0:51 / /other rw - fuse.sshfs other:/ rw\n",
      type, source);
  return network_file_system({.magic = kFuseMagic, .major = 0, .minor = 50}, mounts);
}

TEST(FileSystems, NetworkFileSystemsHaveANumber) {
  const auto named = [](uint32_t magic) { return network_file_system({.magic = magic}, ""); };
  EXPECT_EQ(named(0x6969), "NFS");
  EXPECT_EQ(named(0xff534d42), "CIFS");
  EXPECT_EQ(named(0x01021997), "9p");
  // ext4, xfs, btrfs, tmpfs, overlay, zfs, and one that nobody knows
  for (const uint32_t local : {0xef53U, 0x58465342U, 0x9123683eU, 0x01021994U, 0x794c7630U,
                               0x2fc12fc1U, 0x12345678U, 0U}) {
    EXPECT_EQ(named(local), "") << local;
  }
}

TEST(FileSystems, FuseIsRemoteByItsTypeOrSource) {
  EXPECT_EQ(fuse("fuse.sshfs", "me@host:/home"), "fuse.sshfs");
  EXPECT_EQ(fuse("fuse.s3fs", "s3fs"), "fuse.s3fs");
  EXPECT_EQ(fuse("virtiofs", "shared"), "virtiofs");
  EXPECT_EQ(fuse("fuse.mine", "host:/volume"), "fuse.mine");
  EXPECT_EQ(fuse("fuse.mine", "//host/share"), "fuse.mine");
  EXPECT_EQ(fuse("fuse", "remote:"), "fuse");
  for (const char* local : {"fuseblk", "fuse.fuse-overlayfs", "fuse.mergerfs", "fuse.bindfs"}) {
    EXPECT_EQ(fuse(local, "/dev/sdb1"), "") << local;
  }
}

TEST(FileSystems, AMountThatIsNotListedIsLocal) {
  const FileSystem found = {.magic = kFuseMagic, .major = 0, .minor = 50};
  for (const char* mounts :
       {"", "\n", "90", "90 27 0:50", "90 27 0:50 / /mnt rw - fuse.sshfs", "90 27 0:50 / /mnt rw -",
        "90 27 0:5 / /mnt rw - fuse.sshfs host:/ rw", "-", "- - -"}) {
    EXPECT_EQ(network_file_system(found, mounts), "") << mounts;
  }
}

TEST(FileSystems, APathIsAskedForItsOwn) {
  EXPECT_EQ(network_file_system("/proc"), "");
  EXPECT_EQ(network_file_system("/no/such/file"), "");
}

}  // namespace
}  // namespace approx::testing
