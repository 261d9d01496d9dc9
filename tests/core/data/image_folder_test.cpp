#include "core/data/image_folder.h"

#include "tests/core/data/archive_testing.h"
#include "tests/core/data/image_testing.h"

namespace approx::testing {
namespace {

using FolderFiles = std::vector<std::pair<std::string, Buffer>>;

// A PNG of 4x4 pixels of one grey value.
Buffer tile(uint8_t value) { return png(Buffer(16, value), 4, 4, PNG_FORMAT_GRAY); }

const FolderFiles kFolderFiles = {{"README.txt", bytes_of("not an image")},
                                  {"train/dog/2.png", tile(12)},
                                  {"train/dog/1.png", tile(11)},
                                  {"train/cat/1.png", tile(1)},
                                  {"test/cat/1.png", tile(101)},
                                  {"test/dog/1.png", tile(111)}};

LoadedDataset read_folder(const FolderFiles& files, std::vector<std::string> classes = {}) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.tar.gz", gzip(tar_of(files)));
  return read_image_folder(folder / "x.tar.gz",
                           {.size = {.height = 4, .width = 4, .channels = 3}, .classes = classes},
                           {.name = "x", .source = "x.tar.gz"});
}

std::vector<int> first_bytes(const ImageSet& images) {
  std::vector<int> values;
  for (int64_t i = 0; i < images.count; ++i) values.push_back(images.pixels[i * 48]);
  return values;
}

std::vector<int64_t> folder_labels(const ImageSet& images) {
  return {images.labels.begin(), images.labels.end()};
}

TEST(ImageFolder, OrdersByPlaceInClassThenClass) {
  const auto dataset = read_folder(kFolderFiles);
  EXPECT_EQ(dataset.classes, 2);
  EXPECT_EQ(dataset.variant, "png");
  EXPECT_FALSE(dataset.lossy);
  EXPECT_EQ(first_bytes(dataset.train), (std::vector<int>{1, 11, 12}));
  EXPECT_EQ(folder_labels(dataset.train), (std::vector<int64_t>{0, 1, 1}));
  EXPECT_EQ(first_bytes(dataset.test), (std::vector<int>{101, 111}));
}

TEST(ImageFolder, DoesNotDependOnTheOrderOfTheArchiveNorOnItsKind) {
  const auto expected = read_folder(kFolderFiles).sha256;
  EXPECT_EQ(read_folder({kFolderFiles.rbegin(), kFolderFiles.rend()}).sha256, expected);
  FolderFiles deeper;
  for (const auto& [name, bytes] : kFolderFiles) deeper.emplace_back("some/root/" + name, bytes);
  EXPECT_EQ(read_folder(deeper).sha256, expected);
  const TemporaryFolder folder;
  for (const auto& [name, bytes] : kFolderFiles) write_bytes(folder / name, bytes);
  const auto dataset =
      read_image_folder(folder.path(), {.size = {.height = 4, .width = 4, .channels = 3}}, {});
  EXPECT_EQ(dataset.sha256, expected);
}

TEST(ImageFolder, AJpegMakesItLossy) {
  auto files = kFolderFiles;
  files.emplace_back("train/cat/2.jpg", jpeg(Buffer(48, 9), 4, 4));
  const auto dataset = read_folder(files);
  EXPECT_EQ(dataset.variant, "jpeg");
  EXPECT_TRUE(dataset.lossy);
}

TEST(ImageFolder, GivenClassesDecideTheLabels) {
  EXPECT_EQ(folder_labels(read_folder(kFolderFiles, {"dog", "cat"}).train),
            (std::vector<int64_t>{0, 1, 0}));
  EXPECT_CONTAINS(data_error_of([] {
                    read_folder(kFolderFiles, {"dogs", "cat"});
                  }),
                  "did you mean \"dogs\"");
}

TEST(ImageFolder, NamesWhatIsWrong) {
  const auto with = [](const std::string& name, const Buffer& bytes) {
    auto files = kFolderFiles;
    files.emplace_back(name, bytes);
    return data_error_of([&] { read_folder(files); });
  };
  EXPECT_CONTAINS(with("train/cat/x.gif", tile(1)), "train/cat/x.gif: expected only .jpg");
  EXPECT_CONTAINS(with("train/cat/x.png", bytes_of("x")), "train/cat/x.png: at byte 0");
  EXPECT_CONTAINS(with("train/cat/x.png", png(Buffer(25), 5, 5, PNG_FORMAT_GRAY)), "found 5x5");
  EXPECT_CONTAINS(with("val/cat/x.png", tile(1)), "found both");
  EXPECT_CONTAINS(with("test/bird/x.png", tile(1)), "class \"bird\" has test images and no");
  EXPECT_CONTAINS(with("other/train/cat/x.png", tile(1)),
                  "found some in \"./\" and this in \"other/\"");
  EXPECT_CONTAINS(data_error_of([] {
                    read_folder({{"train/a/1.png", tile(1)}});
                  }),
                  "found 1 and 0");
  EXPECT_CONTAINS(data_error_of([] { read_folder({}); }), "found 0 and 0");
}

}  // namespace
}  // namespace approx::testing
