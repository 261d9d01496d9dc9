#include "core/data/archive.h"

#include <sys/stat.h>

#include <map>

#include "tests/core/data/archive_testing.h"

namespace approx::testing {
namespace {

using ArchivedFiles = std::map<std::string, Buffer>;

ArchivedFiles read_all(const std::string& path, const ArchiveLimits& limits = {}) {
  ArchivedFiles files;
  visit_files(
      path, limits, [](std::string_view) { return true; },
      [&](const std::string&, std::string_view name, Bytes content) {
        files[std::string(name)] = {content.begin(), content.end()};
        return true;
      });
  return files;
}

std::string archive_refusal(const Buffer& archive, const ArchiveLimits& limits = {}) {
  const TemporaryFolder folder;
  write_bytes(folder / "bad.tar", archive);
  auto message = data_error_of([&] { read_all(folder / "bad.tar", limits); });
  EXPECT_CONTAINS(message, "bad.tar");
  EXPECT_EQ(folder.files(), 1) << "something was extracted";
  return message;
}

TEST(Archive, FolderTarAndGzipAreTheSame) {
  const TemporaryFolder folder;
  const ArchivedFiles files = {{"a/1", bytes_of("one")}, {"a/2", Buffer(70000, 5)}, {"b", {}}};
  for (const auto& [name, content] : files) write_bytes(folder / ("tree/" + name), content);
  const auto archive = tar({tar_entry("./a/", {}, '5'), tar_entry("./a/1", files.at("a/1")),
                            tar_entry("a/2", files.at("a/2")), tar_entry("b", {})});
  write_bytes(folder / "x.tar", archive);
  write_bytes(folder / "x.tar.gz", gzip(archive));
  EXPECT_EQ(read_all(folder / "tree"), files);
  EXPECT_EQ(read_all(folder / "x.tar"), files);
  EXPECT_EQ(read_all(folder / "x.tar.gz"), files);
}

TEST(Archive, RefusesHostileEntries) {
  const auto x = bytes_of("x");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"../evil", x}})), "\"..\" in its path");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"a/../../evil", x}})), "\"..\" in its path");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"a/..", x}})), "\"..\" in its path");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"/etc/evil", x}})), "an absolute path");
  EXPECT_CONTAINS(archive_refusal(tar_of({{".//etc/evil", x}})), "an absolute path");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"..\\evil", x}})), "backslash");
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("l", {}, '2', "/etc/passwd")})),
                  "a symbolic link");
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("a", x), tar_entry("l", {}, '1', "a")})),
                  "a hard link");
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("d", {}, '3')})), "neither a file nor a folder");
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("d", {}, '4')})), "neither a file nor a folder");
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("p", {}, '6')})), "neither a file nor a folder");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"a", x}, {"./a", x}})), "occurs twice");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"a/b", x}, {"a/.//b", x}})), "occurs twice");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"a\x01", x}})), "printable ASCII");
  EXPECT_CONTAINS(archive_refusal(tar_of({{"caf\xe9", x}})), "bad.tar");
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("", x)})), "bad.tar");
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("../folder/", {}, '5')})), "\"..\" in its path");
}

TEST(Archive, APaxPathIsCheckedLikeAnyOther) {
  const std::string record = "19 path=../../evil\n";
  ASSERT_EQ(record.size(), 19u);
  EXPECT_CONTAINS(archive_refusal(tar({tar_entry("pax", bytes_of(record), 'x'),
                                       tar_entry("innocent", bytes_of("x"))})),
                  "\"..\" in its path");
}

TEST(Archive, RefusesLyingSizes) {
  const auto lie = [](const std::string& size) {
    auto bytes = tar_header("a", size, '0');
    bytes.resize(bytes.size() + 2048);
    return bytes;
  };
  EXPECT_CONTAINS(archive_refusal(lie("77777777777")), "are allowed");
  archive_refusal(lie("00000010000"));  // more than there is
  archive_refusal(
      lie(std::string("\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff")));            // negative
  archive_refusal(lie(std::string("\x80\0\0\0\x7f\xff\xff\xff\xff\xff\xff\xff", 12)));  // 2^63 - 1
}

TEST(Archive, HoldsToItsLimits) {
  const auto three = tar_of({{"a", Buffer(100)}, {"b", Buffer(200)}, {"c", Buffer(300)}});
  EXPECT_CONTAINS(archive_refusal(three, {.entries = 2}), "at most 2 entries");
  EXPECT_CONTAINS(archive_refusal(three, {.entry_bytes = 250}), "\"c\" is refused: 300 bytes");
  EXPECT_CONTAINS(archive_refusal(three, {.content_bytes = 1000}), "at most 1000 bytes");
  EXPECT_CONTAINS(archive_refusal(tar_of({{std::string(90, 'n'), {}}}), {.name_bytes = 50}),
                  "of 90");
  const auto bomb = gzip(tar_of({{"zeros", Buffer(20 << 20)}}));
  EXPECT_LT(bomb.size(), 40000u);
  EXPECT_CONTAINS(archive_refusal(bomb, {.content_bytes = 1 << 20}), "at most 1048576 bytes");
}

TEST(Archive, FindsCutsAndInAGzipEveryAlteredByte) {
  Buffer noise;
  for (uint32_t i = 0, x = 1; i < 3000; ++i) noise.push_back((x = x * 1664525 + 1013904223) >> 24);
  const auto archive = tar_of({{"train/a/1", noise}, {"train/b/2", noise}});
  const TemporaryFolder folder;
  const auto expected = [&] {
    write_bytes(folder / "good.tar", archive);
    return read_all(folder / "good.tar");
  }();
  const auto read = [&](const Buffer& bytes) {
    write_bytes(folder / "bad.tar", bytes);
    // Bits of the gzip header that say nothing of the content may differ.
    EXPECT_EQ(read_all(folder / "bad.tar"), expected);
  };
  expect_damage_is_found(archive, "bad.tar", read, 200, /*flips=*/false);
  const auto compressed = gzip(archive);
  expect_damage_is_found(compressed, "bad.tar", read, 200, /*flips=*/false);
  for (size_t bit = 10 * 8; bit < compressed.size() * 8; bit += compressed.size() * 8 / 400) {
    auto altered = compressed;
    altered[bit / 8] ^= static_cast<uint8_t>(1u << (bit % 8));
    EXPECT_CONTAINS(data_error_of([&] { read(altered); }), "bad.tar");
  }
}

TEST(Archive, RefusesWhatIsNoArchive) {
  EXPECT_CONTAINS(archive_refusal({}), "found no bytes");
  EXPECT_CONTAINS(archive_refusal(bytes_of("this is a text file\n")), "expected a tar archive");
  EXPECT_CONTAINS(data_error_of([] { read_all("/nowhere/x.tar"); }), "no such file");
  EXPECT_CONTAINS(data_error_of([] { read_all("/dev/null"); }), "neither");
}

TEST(Archive, RefusesLinksAndDevicesInAFolder) {
  const TemporaryFolder folder;
  write_bytes(folder / "tree/a", bytes_of("x"));
  fs::create_symlink("/etc/passwd", folder / "tree/link");
  EXPECT_CONTAINS(data_error_of([&] { read_all(folder / "tree"); }), "tree/link: is refused");
  fs::remove(folder / "tree/link");
  ASSERT_EQ(::mkfifo((folder / "tree/pipe").c_str(), 0600), 0);
  EXPECT_CONTAINS(data_error_of([&] { read_all(folder / "tree"); }), "tree/pipe: is refused");
  fs::remove(folder / "tree/pipe");
  write_bytes(folder / "other/b", bytes_of("y"));
  fs::create_directory_symlink(folder / "other", folder / "tree/cat");
  EXPECT_CONTAINS(data_error_of([&] { read_all(folder / "tree"); }), "tree/cat: is refused");
}

TEST(Archive, StopsWhenTold) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.tar", tar_of({{"a", {}}, {"b", {}}}));
  int visits = 0;
  visit_files(
      folder / "x.tar", {}, [](std::string_view) { return true; },
      [&](const std::string&, std::string_view, Bytes) { return ++visits < 1; });
  EXPECT_EQ(visits, 1);
}

}  // namespace
}  // namespace approx::testing
