#include "core/data/photo_import.h"

#include <algorithm>

#include "tests/core/data/photo_testing.h"

namespace approx::testing {
namespace {

Buffer file_of(const ImageSet& set, int64_t i) {
  const auto file = set.photos.file(i);
  return {file.begin(), file.end()};
}

std::vector<int64_t> photo_labels(const ImageSet& set) {
  return {set.labels.begin(), set.labels.end()};
}

Buffer converted(PhotoLimit limit, const Buffer& file, bool* rewrote = nullptr) {
  PhotoConverter converter(limit);
  const auto bytes = converter.convert(file, "x");
  if (rewrote) *rewrote = converter.rewrote();
  return {bytes.begin(), bytes.end()};
}

TEST(PhotoConverter, KeepsTheBytesOfWhatIsSmallEnough) {
  for (const auto& file :
       {jpeg_of(waves(48, 90)), jpeg_of(waves(10, 12)), jpeg_of(waves(48, 48), TJFLAG_PROGRESSIVE),
        jpeg(Buffer(48 * 50, 7), 50, 48, TJPF_GRAY)}) {
    bool rewrote = true;
    EXPECT_EQ(converted({.side = 48}, file, &rewrote), file);
    EXPECT_FALSE(rewrote);
  }
}

TEST(PhotoConverter, ReducesTheShorterSide) {
  for (const auto& [height, width, new_height, new_width] : {std::array{96, 150, 48, 75},
                                                             {150, 97, 74, 48},
                                                             {49, 49, 48, 48},
                                                             {400, 600, 48, 72},
                                                             {64, 3000, 48, 2250}}) {
    const auto picture = waves(height, width);
    bool rewrote = false;
    const auto result = decoded(converted({.side = 48}, jpeg_of(picture), &rewrote));
    EXPECT_TRUE(rewrote);
    EXPECT_EQ(result.height, new_height);
    EXPECT_EQ(result.width, new_width);
    Raster expected;
    expected.resize(new_height, new_width);
    Resampler()(picture, {0, 0, double(height), double(width)}, new_height, new_width, false,
                expected.pixels.data());
    EXPECT_LE(largest_difference(result.pixels, expected.pixels), 16) << height << "x" << width;
  }
}

TEST(PhotoConverter, WritesCmykAndPngAsJpeg) {
  const auto picture = waves(20, 30);
  const auto from_png = converted({.side = 48}, png(picture.pixels, 30, 20));
  EXPECT_EQ(read_photo_header(from_png, "x").kind, PhotoHeader::Kind::kColourJpeg);
  EXPECT_LE(largest_difference(decoded(from_png).pixels, picture.pixels), 12);
  const auto inks = jpeg(Buffer(20 * 30 * 4, 100), 30, 20, TJPF_CMYK);
  const auto from_cmyk = converted({.side = 48}, inks);
  EXPECT_EQ(read_photo_header(from_cmyk, "x").kind, PhotoHeader::Kind::kColourJpeg);
  EXPECT_LE(largest_difference(decoded(from_cmyk).pixels, decoded(inks).pixels), 6);
}

TEST(PhotoConverter, ReducesTheLongerSideWhereAskedTo) {
  for (const auto& [height, width, new_height, new_width] :
       {std::array{300, 600, 250, 500}, {600, 450, 500, 375}, {501, 501, 500, 500}}) {
    const auto result =
        decoded(converted({.side = 500, .of_longer = true}, jpeg_of(waves(height, width))));
    EXPECT_EQ(result.height, new_height);
    EXPECT_EQ(result.width, new_width);
  }
  const auto fits = jpeg_of(waves(500, 375));
  EXPECT_EQ(converted({.side = 500, .of_longer = true}, fits), fits);
}

// Of a long and thin image a row or a column is left; one that no JPEG can hold is the file's
// fault.
TEST(PhotoConverter, LongAndThinImagesAreReducedOrNamed) {
  for (const auto& [height, width] : {std::pair{1, 1100}, std::pair{1100, 1}}) {
    PhotoConverter converter({.side = 100, .of_longer = true});
    const auto kept = converter.convert(png(Buffer(3 * 1100, 7), width, height), "x");
    const Raster raster = decoded({kept.begin(), kept.end()});
    EXPECT_EQ(raster.height, height == 1 ? 1 : 100);
    EXPECT_EQ(raster.width, width == 1 ? 1 : 100);
  }
  PhotoConverter converter({.side = 256});
  const auto wide = png(Buffer(3 * 66'000, 7), 66'000, 1);
  EXPECT_CONTAINS(data_error_of([&] { converter.convert(wide, "far.png"); }), "far.png: cannot be");
}

TEST(PhotoConverter, WithoutALimitKeepsEveryKindOfFile) {
  for (const auto& file : {jpeg_of(waves(600, 700)), png(waves(20, 30).pixels, 30, 20),
                           jpeg(Buffer(20 * 30 * 4, 100), 30, 20, TJPF_CMYK)}) {
    bool rewrote = true;
    EXPECT_EQ(converted({}, file, &rewrote), file);
    EXPECT_FALSE(rewrote);
  }
}

TEST(PhotoImport, ALimitOfTheImportTakesThePlaceOfTheDataSets) {
  const TemporaryFolder folder;
  auto files = photo_files();
  files.emplace_back("train/n01/large.JPEG", jpeg_of(waves(300, 400)));
  const auto shorter = import_files(files, folder.path(), 48, {.limit = PhotoLimit{.side = 60}});
  EXPECT_EQ(shorter.variant, "shorter side 60, JPEG quality 90");
  EXPECT_EQ(shorter.shorter_side, 60);
  EXPECT_TRUE(shorter.lossy);
  const auto longer =
      import_files(files, folder.path(), 48, {.limit = PhotoLimit{.side = 200, .of_longer = true}});
  EXPECT_EQ(longer.variant, "longer side 200, JPEG quality 90");
  EXPECT_EQ(longer.shorter_side, 150);
  const auto whole = import_files(files, folder.path(), 48, {.limit = PhotoLimit{}});
  EXPECT_EQ(whole.variant, "original files");
  EXPECT_FALSE(whole.lossy);
  EXPECT_EQ(whole.shorter_side, 300);
}

TEST(PhotoImport, OrdersByPlaceInClassThenClass) {
  const TemporaryFolder folder;
  const auto files = photo_files();
  const auto dataset = import_files(files, folder.path(), 200);
  EXPECT_EQ(dataset.name, "photos");
  EXPECT_EQ(dataset.class_names, (std::vector<std::string>{"n01", "n02"}));
  EXPECT_EQ(dataset.variant, "original files");
  EXPECT_FALSE(dataset.lossy);
  EXPECT_EQ(dataset.shorter_side, 200);
  EXPECT_TRUE(dataset.has_photos());
  EXPECT_EQ(dataset.train.count, 8);
  EXPECT_EQ(dataset.test.count, 4);
  EXPECT_EQ(photo_labels(dataset.train), (std::vector<int64_t>{0, 1, 0, 1, 0, 1, 0, 1}));
  const auto find = [&](const std::string& name) {
    return std::find_if(files.begin(), files.end(), [&](const auto& f) { return f.first == name; })
        ->second;
  };
  EXPECT_EQ(file_of(dataset.train, 0), find("train/n01/0.JPEG"));
  EXPECT_EQ(file_of(dataset.train, 3), find("train/n02/1.JPEG"));
  EXPECT_EQ(file_of(dataset.test, 2), find("val/n01/5.JPEG"));
  EXPECT_EQ(folder.files(), 2) << "the archive, the packed file and nothing else";
}

TEST(PhotoImport, TheResultDoesNotDependOnTheOrderNorOnTheKindOfSource) {
  const TemporaryFolder folder;
  auto files = photo_files();
  const auto expected = import_files(files, folder.path()).sha256;
  EXPECT_EQ(import_files(files, folder.path()).sha256, expected);
  std::reverse(files.begin(), files.end());
  EXPECT_EQ(import_files(files, folder.path()).sha256, expected);
  for (auto& [name, bytes] : files) name = "ILSVRC/Data/" + name;
  EXPECT_EQ(import_files(files, folder.path()).sha256, expected);
  for (const auto& [name, bytes] : files) write_bytes(folder / ("plain/" + name), bytes);
  DatasetEntry entry;
  entry.height = entry.width = 32;
  entry.photos = PhotoFolder{.shorter_side = 48};
  import_photos(folder / "plain", entry, folder / "data/x.packed", {}, [](const auto&) {});
  EXPECT_EQ(open_packed(folder / "data/x.packed", true).sha256, expected);
  files.front().second.back() ^= 0;  // the same
  EXPECT_EQ(import_files(files, folder.path()).sha256, expected);
  files.front().second = jpeg_of(waves(40, 40, 99));
  EXPECT_NE(import_files(files, folder.path()).sha256, expected);
}

TEST(PhotoImport, ComputesTheNormalisationOfAllTrainingPixels) {
  const TemporaryFolder folder;
  const auto files = photo_files();
  const auto dataset = import_files(files, folder.path());
  double sum[3] = {}, squares[3] = {}, pixels = 0;
  for (const auto& [name, bytes] : files) {
    if (!name.starts_with("train/")) continue;
    const auto raster = decoded(bytes);
    pixels += static_cast<double>(raster.pixels.size()) / 3;
    for (size_t i = 0; i < raster.pixels.size(); ++i) {
      const double value = raster.pixels[i] / 255.0;
      sum[i % 3] += value;
      squares[i % 3] += value * value;
    }
  }
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(dataset.mean[c], sum[c] / pixels, 1e-9);
    EXPECT_NEAR(dataset.stddev[c], std::sqrt(squares[c] / pixels - std::pow(sum[c] / pixels, 2)),
                1e-9);
  }
}

TEST(PhotoImport, ReadsEveryKindOfFileWhateverItsName) {
  const TemporaryFolder folder;
  auto files = photo_files();
  files.emplace_back("train/n01/png.JPEG", png(waves(30, 30).pixels, 30, 30));
  files.emplace_back("train/n01/cmyk.JPEG", jpeg(Buffer(900 * 4, 50), 30, 30, TJPF_CMYK));
  files.emplace_back("train/n02/grey.jpg", jpeg(Buffer(900, 50), 30, 30, TJPF_GRAY));
  files.emplace_back("train/n02/large.x y[1]'$(id)", jpeg_of(waves(400, 300)));
  const auto dataset = import_files(files, folder.path());
  EXPECT_EQ(dataset.train.count, 12);
  EXPECT_EQ(dataset.variant, "shorter side 48, JPEG quality 90");
  EXPECT_TRUE(dataset.lossy);
  for (int64_t i = 0; i < dataset.train.count; ++i) {
    const auto header = read_photo_header(dataset.train.photos.file(i), "x");
    EXPECT_LE(header.shorter_side(), 48);
    EXPECT_TRUE(header.kind == PhotoHeader::Kind::kColourJpeg ||
                header.kind == PhotoHeader::Kind::kGreyJpeg);
  }
}

// Damaged files of every sort, one of which is enough to refuse the whole.
const Files& damaged_files() {
  static const Files files = [] {
    const auto whole = jpeg_of(waves(40, 40));
    Files damaged = {{"train/n01/cut.JPEG", {whole.begin(), whole.begin() + 300}},
                     {"train/n01/empty.JPEG", {}},
                     {"train/n01/text.JPEG", bytes_of("<html>not found</html>")},
                     {"train/n02/notes", Buffer(100, 1)},
                     {"train/n02/zeros.JPEG", Buffer(5000)},
                     {"val/n01/half.JPEG", {whole.begin(), whole.begin() + 700}}};
    return damaged;
  }();
  return files;
}

TEST(PhotoImport, RefusesADamagedFileByItsName) {
  for (const auto& bad : damaged_files()) {
    const TemporaryFolder folder;
    auto files = photo_files();
    files.insert(files.begin() + 3, bad);
    const auto message = data_error_of([&] { import_files(files, folder.path()); });
    EXPECT_CONTAINS(message, "photos.tar: " + bad.first + ": ");
    EXPECT_EQ(folder.files(), 1) << "something was written";
  }
}

TEST(PhotoImport, NamesTheFirstOfSeveralDamagedFiles) {
  for (int repeat = 0; repeat < 5; ++repeat) {
    const TemporaryFolder folder;
    auto files = photo_files();
    files.insert(files.begin() + 2, damaged_files().begin(), damaged_files().end());
    EXPECT_CONTAINS(data_error_of([&] { import_files(files, folder.path()); }),
                    "train/n01/cut.JPEG");
  }
}

TEST(PhotoImport, SkipsAndListsDamagedFilesWhenAsked) {
  const TemporaryFolder folder;
  auto files = photo_files();
  const auto expected = import_files(files, folder.path());
  files.insert(files.begin() + 3, damaged_files().begin(), damaged_files().end());
  std::vector<std::string> skipped;
  const auto dataset =
      import_files(files, folder.path(), 48,
                   {.skip_damaged = true,
                    .on_skipped = [&](const std::string& message) { skipped.push_back(message); }});
  EXPECT_EQ(dataset.sha256, expected.sha256);
  EXPECT_EQ(dataset.train.skipped, 5);
  EXPECT_EQ(dataset.test.skipped, 1);
  ASSERT_EQ(skipped.size(), damaged_files().size());
  for (size_t i = 0; i < skipped.size(); ++i) EXPECT_CONTAINS(skipped[i], damaged_files()[i].first);
}

TEST(PhotoImport, RefusesFoldersThatAreNoSuchDataSet) {
  const auto with = [](const std::string& name) {
    const TemporaryFolder folder;
    auto files = photo_files();
    files.emplace_back(name, jpeg_of(waves(40, 40)));
    // What no image can heal is not skipped either.
    return data_error_of([&] { import_files(files, folder.path(), 48, {.skip_damaged = true}); });
  };
  EXPECT_CONTAINS(with("val/n03/1.JPEG"), "class \"n03\" has test images and no training images");
  EXPECT_CONTAINS(with("test/n01/1.JPEG"), "found both");
  EXPECT_CONTAINS(with("other/train/n01/1.JPEG"), "found some in \"./\" and this in \"other/\"");
  EXPECT_CONTAINS(with("train/n01/../1.JPEG"), "\"..\" in its path");
  EXPECT_CONTAINS(with("train/n01/\xc3\xa9.JPEG"), "printable ASCII");
  EXPECT_CONTAINS(with("train/n01/0.JPEG"), "occurs twice");
  const TemporaryFolder folder;
  const auto photo = jpeg_of(waves(40, 40));
  EXPECT_CONTAINS(data_error_of([&] {
                    import_files({{"train/a/1.JPEG", photo}, {"val/1.JPEG", photo}}, folder.path());
                  }),
                  "found 1 and 0");
}

TEST(PhotoImport, HoldsADataSetToItsCountsWithWhatWasSkipped) {
  const TemporaryFolder folder;
  Files files;
  for (int i = 0; i < 10; ++i) {
    files.emplace_back("train/n01440764/" + std::to_string(i) + ".JPEG", jpeg_of(waves(8, 8, i)));
    files.emplace_back("val/n01440764/" + std::to_string(i) + ".JPEG", jpeg_of(waves(8, 8, i)));
  }
  write_bytes(folder / "x.tar", tar_of(files));
  EXPECT_CONTAINS(
      data_error_of([&] { import_dataset("imagenette224", folder / "x.tar", folder / "data"); }),
      "expected imagenette224 with 9469 + 3925 images of 224x224x3 in 10 classes, found 10 + 10");
  EXPECT_FALSE(fs::exists(folder / "data/imagenette224.packed"));
  write_bytes(folder / "y.tar", tar_of({{"train/n1/1.JPEG", files[0].second}}));
  EXPECT_CONTAINS(
      data_error_of([&] { import_dataset("imagenette224", folder / "y.tar", folder / "data"); }),
      "unknown class folder \"n1\"");
  try {
    import_dataset("cifar10", folder / "x.tar", folder / "data", {.skip_damaged = true});
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
  }
}

}  // namespace
}  // namespace approx::testing
