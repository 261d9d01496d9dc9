// Tar archives, plain, compressed, or compressed here so that damage lies behind a right checksum;
// then the same archive as a folder of images.
#include <set>

#include "core/data/archive.h"
#include "core/data/image_folder.h"
#include "tests/core/data/archive_testing.h"
#include "tests/core/data/image_testing.h"
#include "tests/fuzz/fuzz.h"

namespace approx::fuzz {
namespace {

constexpr ArchiveLimits kLimits{
    .entries = 50, .entry_bytes = 1 << 16, .content_bytes = 1 << 20, .name_bytes = 100};

void visit(const std::string& path) {
  std::set<std::string, std::less<>> names;
  accepted(ErrorKind::kData, [&] {
    visit_files(
        path, kLimits, [](std::string_view name) { return !name.ends_with("skip"); },
        [&](const std::string& /*place*/, std::string_view name, Bytes content) {
          expect(!name.starts_with('/') && name.find("../") == name.npos, "names stay inside");
          expect(static_cast<int64_t>(name.size()) <= kLimits.name_bytes, "names are short");
          expect(static_cast<int64_t>(content.size()) <= kLimits.entry_bytes, "files are small");
          expect(names.emplace(name).second, "names come once");
          return true;
        });
  });
}

}  // namespace

void run(Bytes bytes) {
  Input input(bytes);
  const bool compress = input.byte() % 2 == 1;
  const auto path =
      scratch_file("archive", compress ? Bytes(testing::gzip(input.rest())) : input.rest());
  visit(path);
  accepted(ErrorKind::kData, [&] {
    read_image_folder(path, {.size = {4, 4, 3}, .classes = {}}, {.name = "x", .source = path});
  });
}

std::vector<Buffer> seeds() {
  using testing::tar, testing::tar_entry, testing::tar_of;
  const Buffer picture = testing::png(testing::gradient(4, 4, 3), 4, 4);
  const Buffer photograph = testing::jpeg(testing::gradient(4, 4, 3), 4, 4);
  const std::vector<Buffer> archives = {
      tar_of({{"a", {}}, {"b/c", Buffer(600, 'x')}, {"d.skip", Buffer(10, 0)}}),
      tar_of({{"train/cat/1.png", picture}, {"test/cat/1.png", picture}}),
      tar_of({{"x/train/cat/1.jpg", photograph}, {"x/val/cat/1.jpg", photograph}}),
      tar({tar_entry("dir/", {}, '5'), tar_entry("dir/file", Buffer(3, 'y'))}),
      tar({tar_entry("link", {}, '2', "/etc/passwd")}),
      tar({tar_entry("hard", {}, '1', "other")}),
      tar({tar_entry("PaxHeaders/a", buffer_of("20 path=longer/name\n"), 'x'),
           tar_entry("a", Buffer(3, 'z'))}),
      tar({tar_entry("././@LongLink", buffer_of("a/long/name"), 'L'), tar_entry("a", {})}),
      tar({})};
  std::vector<Buffer> all;
  for (const auto& archive : archives) {
    for (const uint8_t compress : {0, 1}) {
      Buffer bytes = {compress};
      testing::append(bytes, archive);
      all.push_back(bytes);
    }
    Buffer bytes = {0};
    testing::append(bytes, testing::gzip(archive));
    all.push_back(bytes);
  }
  return all;
}

}  // namespace approx::fuzz
