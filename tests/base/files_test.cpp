#include "base/files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/core/data/testing.h"

namespace approx::testing {
namespace {

std::string text_of(const std::string& path) {
  const auto bytes = read_file(path, 1 << 20);
  return {bytes.begin(), bytes.end()};
}

TEST(ReadFile, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  EXPECT_CONTAINS(data_error_of([&] { read_file(folder / "none", 10); }), "no such file");
  EXPECT_CONTAINS(data_error_of([&] { read_file(folder.path(), 10); }), "not a regular file");
  EXPECT_CONTAINS(data_error_of([&] { read_file("/dev/zero", 10); }), "not a regular file");
  write_bytes(folder / "ten", bytes_of("0123456789"));
  EXPECT_EQ(read_file(folder / "ten", 10), bytes_of("0123456789"));
  EXPECT_CONTAINS(data_error_of([&] { read_file(folder / "ten", 9); }),
                  "at most 9 bytes, found 10");
}

TEST(ForEachPiece, GivesTheWholeInOrder) {
  const TemporaryFolder folder;
  Buffer content;
  for (uint64_t i = 0; i < (5 << 19); ++i) content.push_back(static_cast<uint8_t>(i * i / 7));
  write_bytes(folder / "file", content);
  Buffer found;
  int pieces = 0;
  for_each_piece(folder / "file", [&](Bytes piece) {
    found.insert(found.end(), piece.begin(), piece.end());
    ++pieces;
  });
  EXPECT_EQ(found, content);
  EXPECT_EQ(pieces, 3);
  EXPECT_CONTAINS(data_error_of([&] { for_each_piece(folder / "none", [](Bytes) {}); }),
                  "no such file");
}

TEST(WriteFile, ReplacesOrLeavesNothingBehind) {
  const TemporaryFolder folder;
  write_file(folder / "file", "first");
  write_file(folder / "file", "second");
  EXPECT_EQ(text_of(folder / "file"), "second");
  fs::create_directories(folder / "taken/by/a/folder");
  EXPECT_THROW(write_file(folder / "taken", "x"), Error);
  EXPECT_THROW(write_file(folder / "none/file", "x"), Error);
  EXPECT_EQ(folder.files(), 1);
}

TEST(WriteSynced, WritesAllOfItOrSaysWhyNot) {
  const TemporaryFolder folder;
  EXPECT_FALSE(write_synced(folder / "file", bytes_of("longer than what follows")));
  EXPECT_FALSE(write_synced(folder / "file", bytes_of("text")));
  EXPECT_EQ(text_of(folder / "file"), "text");
  EXPECT_EQ(write_synced(folder / "none/file", {}), std::errc::no_such_file_or_directory);
  EXPECT_EQ(write_synced("/dev/full", bytes_of("x")), std::errc::no_space_on_device);
  EXPECT_FALSE(sync_folder(folder.path()));
  EXPECT_TRUE(sync_folder(folder / "none"));
}

TEST(MakeFolderDurably, MakesTheParentsToo) {
  const TemporaryFolder folder;
  EXPECT_FALSE(make_folder_durably(folder / "a/b/c"));
  EXPECT_TRUE(fs::is_directory(folder / "a/b/c"));
  EXPECT_FALSE(make_folder_durably(folder / "a/b/c"));
  EXPECT_FALSE(make_folder_durably(folder / "a/d/"));
  EXPECT_TRUE(fs::is_directory(folder / "a/d"));
  write_file(folder / "file", "text");
  EXPECT_TRUE(make_folder_durably(folder / "file/below"));
  EXPECT_TRUE(make_folder_durably(""));
}

// A name that somebody else has laid out, to have another file written over.
TEST(OpenNew, ALinkIsNotFollowed) {
  const TemporaryFolder folder;
  write_file(folder / "precious", "kept");
  std::filesystem::create_symlink(folder / "precious",
                                  fmt::format("{}.{}", folder / "out", ::getpid()));
  write_file(folder / "out", "written");
  EXPECT_EQ(text_of(folder / "out"), "written");
  std::filesystem::create_symlink(folder / "precious", folder / "unfinished");
  EXPECT_EQ(write_synced(folder / "unfinished", bytes_of("new")),
            std::errc::too_many_symbolic_link_levels);
  { OutputFile(folder / "unfinished", O_WRONLY | O_CREAT | O_EXCL); }
  EXPECT_EQ(text_of(folder / "unfinished"), "");
  EXPECT_EQ(text_of(folder / "precious"), "kept");
}

TEST(WriteFile, APipeStaysOne) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "pipe").c_str(), 0600), 0);
  const Descriptor reader(::open((folder / "pipe").c_str(), O_RDWR | O_NONBLOCK));
  write_file(folder / "pipe", "text");
  char read_back[8] = {};
  EXPECT_EQ(::read(reader.get(), read_back, sizeof(read_back)), 4);
  EXPECT_STREQ(read_back, "text");
  EXPECT_TRUE(std::filesystem::is_fifo(folder / "pipe"));
}

TEST(OutputFile, WritesOverwritesAndIsRenamed) {
  const TemporaryFolder folder;
  OutputFile file(folder / "unfinished", O_WRONLY | O_CREAT | O_TRUNC);
  file.write(bytes_of("0123456789"), 10);
  file.overwrite(2, bytes_of("xy"));
  file.write(bytes_of("end"), 13);
  file.sync_and_close();
  EXPECT_FALSE(rename_durably(folder / "unfinished", folder / "file"));
  EXPECT_EQ(text_of(folder / "file"), "01xy456789end");
  EXPECT_EQ(rename_durably(folder / "unfinished", folder / "file"),
            std::errc::no_such_file_or_directory);
  OutputFile full("/dev/full", O_WRONLY);
  EXPECT_CONTAINS(data_error_of([&] { full.write(bytes_of("x"), 77); }), "it needs 77 bytes");
}

TEST(Descriptor, IsClosedOnceAndMoves) {
  int pipe_ends[2];
  ASSERT_EQ(::pipe(pipe_ends), 0);
  const auto is_open = [](int descriptor) { return ::fcntl(descriptor, F_GETFD) >= 0; };
  {
    Descriptor first(pipe_ends[0]);
    Descriptor second(std::move(first));
    EXPECT_FALSE(first);  // NOLINT(bugprone-use-after-move): that it is empty is the point
    EXPECT_TRUE(is_open(second.get()));
    second = Descriptor(pipe_ends[1]);
    EXPECT_FALSE(is_open(pipe_ends[0]));
    EXPECT_FALSE(second.close());
    EXPECT_FALSE(second.close());  // nothing is left to close
  }
  EXPECT_FALSE(is_open(pipe_ends[1]));
  EXPECT_EQ(Descriptor(1 << 20).close(), std::errc::bad_file_descriptor);
}

TEST(ProgramFolders, AreTheProgramsOwn) {
  const auto folders = program_folders("plots");
  ASSERT_EQ(folders.size(), 2u);
  for (const auto& folder : folders) EXPECT_TRUE(folder.is_absolute()) << folder;
  EXPECT_EQ(folders[1].filename(), "plots");
  EXPECT_EQ(folders[1].parent_path().filename(), "approxtrain");
}

}  // namespace
}  // namespace approx::testing
