#include "base/outputs.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/output_target.h"
#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

std::string refusal_of(const std::string& path, std::string_view replaced = "") {
  try {
    check_output(path, replaced);
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    return error.what();
  }
  return "";
}

TEST(OutputTarget, FollowsLinksAndKnowsDescriptors) {
  const TemporaryFolder folder;
  const std::string real = fs::canonical(folder.path()).string();
  fs::create_directory(folder / "d");
  fs::create_symlink("d", folder / "linked");
  fs::create_symlink("../none", folder / "d/to_none");
  fs::create_symlink("linked/to_none", folder / "to_link");
  const auto target = output_target(folder / "to_link");
  EXPECT_EQ(target.path, real + "/none");
  EXPECT_TRUE(target.is_replaced);
  EXPECT_EQ(target.descriptor, -1);
  EXPECT_FALSE(output_target(folder / "d").is_replaced);
  EXPECT_FALSE(output_target("/dev/null").is_replaced);

  fs::create_symlink("/dev/stdout", folder / "out");
  for (const auto& name : {std::string("/dev/stdout"), std::string("/dev/fd/1"), folder / "out",
                           std::string("/proc/self/fd/1"), std::string("/dev/fd/../fd/1")}) {
    EXPECT_EQ(output_target(name).descriptor, 1) << name;
    EXPECT_FALSE(output_target(name).is_replaced) << name;
  }
  const Descriptor file(::open((folder / "file").c_str(), O_WRONLY | O_CREAT, 0600));
  const auto open = output_target(fmt::format("/dev/fd/{}", file.get()));
  EXPECT_EQ(open.descriptor, file.get());
  EXPECT_EQ(open.path, real + "/file");

  fs::create_symlink("loop", folder / "loop");
  EXPECT_THROW(write_file(folder / "loop", "x"), Error);
}

TEST(CheckOutput, ComparesFilesAndNotNames) {
  const TemporaryFolder folder;
  write_bytes(folder / "read", bytes_of("x"));
  write_bytes(folder / "other", bytes_of("x"));
  fs::create_directory(folder / "d");
  fs::create_symlink(".", folder / "linked");
  fs::create_symlink("read", folder / "link");
  fs::create_hard_link(folder / "read", folder / "hard");
  note_input(folder / "read");
  keep_file(folder / "not there", "may come yet");
  EXPECT_TRUE(is_input(folder / "link"));
  EXPECT_FALSE(is_input(folder / "not there"));
  for (const char* name : {"read", "./read", "d/../read", "linked/read", "link", "hard"}) {
    EXPECT_CONTAINS(refusal_of(folder / name), "is read by this command");
    EXPECT_THROW(write_output(folder / name, "new"), Error);
  }
  EXPECT_CONTAINS(refusal_of(folder / "linked/not there"), "may come yet");
  EXPECT_EQ(refusal_of(folder / "other"), "");
  EXPECT_EQ(refusal_of(folder / "new"), "");
  EXPECT_EQ(refusal_of("/dev/null"), "");
  write_output(folder / "other", "new");
  EXPECT_EQ(read_file(folder / "read", 9), bytes_of("x"));
  EXPECT_EQ(read_file(folder / "other", 9), bytes_of("new"));
}

TEST(CheckOutput, KeepsFoldersWithAllThatIsInThem) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "runs/a/b");
  fs::create_directories(folder / "moved/in");
  write_bytes(folder / "runs/a/b/file", bytes_of("x"));
  write_bytes(folder / "linked from it", bytes_of("x"));
  fs::create_hard_link(folder / "runs/a/b/file", folder / "hard");
  fs::create_symlink("runs/a", folder / "linked");
  fs::create_symlink("../moved", folder / "runs/moved");
  fs::create_symlink("../../../linked from it", folder / "runs/a/b/link");
  keep_folder(folder / "runs", "is kept");
  keep_folder(folder / "to come", "is kept too");
  for (const char* name : {"runs", "runs/new", "runs/new/deeper", "linked/b/file", "linked/new",
                           "hard", "moved/in/new", "linked from it"}) {
    EXPECT_CONTAINS(refusal_of(folder / name), "is kept");
  }
  EXPECT_CONTAINS(refusal_of(folder / "to come"), "is kept too");
  EXPECT_CONTAINS(refusal_of(folder / "to come/new"), "is kept too");
  EXPECT_EQ(refusal_of(folder / "runs.md"), "");
}

TEST(CheckOutput, KnowsByTheirFirstBytesWhatNobodyMeans) {
  const TemporaryFolder folder;
  const std::pair<std::string, const char*> kinds[] = {
      {std::string("SQLite format 3\0and more", 24), "a database"},
      {"APXDATA\nand more", "a packed data set"},
      {"APTXOPER", "recorded operands"},
      {"APTXCKPT and more", "a checkpoint"}};
  for (const auto& [bytes, kind] : kinds) {
    write_file(folder / "file", bytes);
    EXPECT_CONTAINS(refusal_of(folder / "file"), kind);
  }
  write_file(folder / "packed", "APXDATA\n");
  EXPECT_EQ(refusal_of(folder / "packed", kPackedDataSet), "");
  for (const char* bytes : {"", "APXDATA", "| a | table |"}) {
    write_file(folder / "file", bytes);
    EXPECT_EQ(refusal_of(folder / "file"), "") << bytes;
  }
}

TEST(WriteFile, KeepsPermissionsAndLinks) {
  const TemporaryFolder folder;
  write_file(folder / "file", "first");
  ASSERT_EQ(::chmod((folder / "file").c_str(), 0640), 0);
  fs::create_symlink("file", folder / "link");
  write_file(folder / "link", "second");
  struct stat status {};
  ASSERT_EQ(::stat((folder / "file").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 07777, 0640u);
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(read_file(folder / "file", 9), bytes_of("second"));
  EXPECT_EQ(folder.files(), 2);
}

TEST(WriteFile, AnOpenDescriptorIsGoneOnWith) {
  const TemporaryFolder folder;
  const Descriptor file(::open((folder / "file").c_str(), O_WRONLY | O_CREAT, 0600));
  ASSERT_FALSE(write_all(file.get(), bytes_of("before ")));
  write_file(fmt::format("/dev/fd/{}", file.get()), "and behind");
  EXPECT_EQ(read_file(folder / "file", 99), bytes_of("before and behind"));
}

TEST(WriteFile, SaysThatNobodyReadsAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  const Descriptor writer(ends[1]);
  try {
    write_file(fmt::format("/dev/fd/{}", writer.get()), "text");
    ADD_FAILURE() << "written";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kInternal);
    EXPECT_CONTAINS(error.what(), "its reader has gone");
  }
}

}  // namespace
}  // namespace approx::testing
