#include "core/data/junk.h"

#include "core/data/archive.h"
#include "core/data/cifar.h"
#include "core/data/image_folder.h"
#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

TEST(Junk, IsKnownByItsName) {
  for (const auto* name :
       {".DS_Store", "train/cat/.DS_Store", "._data_batch_1.bin", "a/._1.png", "__MACOSX/x/1.png",
        "x/__MACOSX/data_batch_1.bin", "Thumbs.db", "a/THUMBS.DB", "desktop.ini", "Desktop.ini"}) {
    EXPECT_TRUE(is_junk(name)) << name;
  }
  for (const auto* name :
       {"", "1.png", ".hidden", "DS_Store", "__MACOSX", "a__MACOSX/1.png", "x.__MACOSX/1.png",
        "Thumbs.db/1.png", "._x/1.png", "thumbs.db.png", "data_batch_1.bin", "_.png"}) {
    EXPECT_FALSE(is_junk(name)) << name;
  }
}

TEST(Junk, IsCountedInOneFolder) {
  const TemporaryFolder folder;
  EXPECT_EQ(count_junk(folder / "none"), 0);
  for (const auto* name : {".DS_Store", "._a", "a", "b/.DS_Store", "._folder/x"}) {
    write_bytes(folder / name, bytes_of("x"));
  }
  EXPECT_EQ(count_junk(folder.path()), 2);
}

// One way to read a data set from a folder or an archive.
struct Reader {
  std::string name;
  Files files;    // the smallest whole set, the file `lonely` last
  Files garbage;  // junk with names or content that could be taken for a part of it
  std::function<LoadedDataset(const std::string& path)> read;
};

Buffer filled(size_t size, uint8_t value) { return Buffer(size, value); }

std::vector<Reader> readers() {
  const auto cifar = [](int64_t label_bytes) {
    return [label_bytes](const std::string& path) {
      const CifarFiles files = {
          .train = {"1.bin", "2.bin"}, .test = {"test.bin"}, .train_count = 1, .test_count = 1};
      return read_cifar(path, files, {.label_bytes = label_bytes, .classes = 10},
                        {.name = "x", .source = "x", .classes = 10});
    };
  };
  const auto cifar_files = [](size_t bytes) {
    return Files{
        {"1.bin", filled(bytes, 1)}, {"2.bin", filled(bytes, 2)}, {"test.bin", filled(bytes, 3)}};
  };
  const Files cifar_junk = {{"__MACOSX/set/1.bin", bytes_of("x")},
                            {"__MACOSX/set/._1.bin", bytes_of("x")},
                            {"._2.bin", bytes_of("x")},
                            {"Thumbs.db", bytes_of("x")}};
  const auto tile = [](uint8_t value) { return png(Buffer(16, value), 4, 4, PNG_FORMAT_GRAY); };
  const auto photo = [](int phase) { return jpeg_of(waves(40, 40, phase)); };
  const Files image_junk = {{"__MACOSX/train/a/1.png", bytes_of("x")},
                            {"train/a/._1.png", bytes_of("x")},
                            {"train/a/.DS_Store", bytes_of("x")},
                            {"test/a/desktop.ini", bytes_of("x")}};
  return {
      {"one label byte", cifar_files(3073), cifar_junk, cifar(1)},
      {"two label bytes", cifar_files(3074), cifar_junk, cifar(2)},
      {"images",
       {{"train/a/1.png", tile(1)}, {"train/b/1.png", tile(2)}, {"test/a/1.png", tile(3)}},
       image_junk,
       [](const std::string& path) {
         return read_image_folder(path,
                                  {.size = {.height = 4, .width = 4, .channels = 3}, .classes = {}},
                                  {.name = "x", .source = "x"});
       }},
      {"photographs",
       {{"train/a/1.jpg", photo(1)}, {"train/b/1.jpg", photo(2)}, {"test/a/1.jpg", photo(3)}},
       image_junk,
       [](const std::string& path) {
         const TemporaryFolder folder;
         DatasetEntry entry;
         entry.name = "photos";
         entry.height = entry.width = 32;
         entry.photos = PhotoFolder{.shorter_side = 48};
         const auto packed = folder / "x.packed";
         const auto junk = import_photos(path, entry, packed, {}, [](const LoadedDataset&) {});
         auto dataset = open_packed(packed, /*verify=*/true);
         dataset.junk = junk;
         return dataset;
       }},
  };
}

// Calls `check` with a folder, a .tar and a .tar.gz that hold `files`.
void in_every_container(const Files& files,
                        const std::function<void(const std::string& path)>& check) {
  const TemporaryFolder folder;
  for (const auto& [name, content] : files) write_bytes(folder / ("folder/" + name), content);
  write_bytes(folder / "x.tar", tar_of(files));
  write_bytes(folder / "x.tar.gz", gzip(tar_of(files)));
  for (const auto* name : {"folder", "x.tar", "x.tar.gz"}) {
    SCOPED_TRACE(name);
    check(folder / name);
  }
}

// The files of `files` with the last one below `lonely` and the others below `rest`.
Files split(const Files& files, const std::string& rest, const std::string& lonely) {
  Files moved;
  for (const auto& [name, content] : files) moved.emplace_back(rest + name, content);
  moved.back().first = lonely + files.back().first;
  return moved;
}

TEST(Junk, NoReaderTakesItForDataAndEveryOneCountsIt) {
  for (const auto& reader : readers()) {
    SCOPED_TRACE(reader.name);
    for (const std::string root : {"", "set/", "some/where/"}) {
      SCOPED_TRACE(root);
      const auto files = split(reader.files, root, root);
      std::string clean;
      in_every_container(files, [&](const std::string& path) {
        const auto dataset = reader.read(path);
        EXPECT_EQ(dataset.junk, 0);
        if (clean.empty()) clean = dataset.sha256;
        EXPECT_EQ(dataset.sha256, clean);
      });
      Files dirty = split(reader.garbage, root, root);
      dirty.insert(dirty.end(), files.begin(), files.end());
      in_every_container(dirty, [&](const std::string& path) {
        const auto dataset = reader.read(path);
        EXPECT_EQ(dataset.junk, 4);
        EXPECT_EQ(dataset.sha256, clean);
      });
    }
  }
}

TEST(DataSetFolders, AllFilesOfASetLieInOne) {
  const std::pair<std::string, std::string> layouts[] = {{"part_a/", "part_b/"},
                                                         {"", "part_b/"},
                                                         {"part_a/", ""},
                                                         {"part_a/", "part_a/part_b/"},
                                                         {"part_a/x/", "part_b/x/"}};
  for (const auto& reader : readers()) {
    SCOPED_TRACE(reader.name);
    for (const auto& [rest, lonely] : layouts) {
      SCOPED_TRACE(rest + " and " + lonely);
      in_every_container(split(reader.files, rest, lonely), [&](const std::string& path) {
        const auto message = data_error_of([&] { reader.read(path); });
        EXPECT_CONTAINS(message, "in one folder");
        for (std::string folder : {rest, lonely}) {
          if (!folder.empty()) folder.pop_back();
          EXPECT_CONTAINS(message, folder);
        }
      });
    }
  }
}

TEST(DataSetFolders, AreNamedAsTheFilesInThem) {
  EXPECT_EQ(folder_text("x.tar: a/b/1.png", "a/b/1.png"), "x.tar: a/b");
  EXPECT_EQ(folder_text("x.tar: 1.png", "1.png"), "x.tar");
  EXPECT_EQ(folder_text("/data/x/1.png", "1.png"), "/data/x");
  EXPECT_EQ(folder_text("/data/x/a/1.png", "a/1.png"), "/data/x/a");
}

TEST(DataSetFolders, TwoVersionsOfASetAreNotOne) {
  const TemporaryFolder folder;
  const auto import = [&] {
    return data_error_of([&] { import_dataset("cifar10", folder / "x", folder / "data"); });
  };
  write_bytes(folder / "x/other.bin", bytes_of("x"));
  EXPECT_CONTAINS(import(), "expected data_batch_1.bin, or train/<class>/*.jpg, found neither");
  write_bytes(folder / "x/a/train/cat/1.png", bytes_of("x"));
  EXPECT_CONTAINS(import(), "a/train/cat/1.png: ");
  write_bytes(folder / "x/b/data_batch_3.bin", bytes_of("x"));
  EXPECT_CONTAINS(import(), "found the binary b/data_batch_3.bin and the image a/train/cat/1.png");
  EXPECT_FALSE(fs::exists(folder / "data"));
}

}  // namespace
}  // namespace approx::testing
