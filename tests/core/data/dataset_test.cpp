#include "core/data/dataset.h"

#include <algorithm>
#include <array>

#include "tests/core/data/archive_testing.h"

namespace approx::testing {
namespace {

TEST(Datasets, DescribeThemselves) {
  const auto entries = Registry<DatasetEntry>::instance().all();
  std::vector<std::string> names;
  for (const auto* entry : entries) {
    names.push_back(entry->name);
    EXPECT_FALSE(entry->summary.empty()) << entry->name;
    EXPECT_GT(entry->classes, 1) << entry->name;
    EXPECT_GT(entry->n_train, 0) << entry->name;
    // One way to come by it.
    EXPECT_EQ((entry->import != nullptr) + (entry->embedded != nullptr) + entry->photos.has_value(),
              1)
        << entry->name;
    for (const auto& file : entry->files) {
      EXPECT_TRUE(file.url.starts_with("https://")) << file.url;
      EXPECT_TRUE(file.url.ends_with("/" + file.file_name)) << file.url;
      EXPECT_EQ(file.md5.size(), 32u) << file.url;
    }
  }
  for (const auto* name :
       {"cifar10", "cifar100", "imagenet", "imagenette224", "mnist", "mnist14"}) {
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
  }
}

TEST(Datasets, MissingOnesSayHowToGetThem) {
  const TemporaryFolder folder;
  EXPECT_EQ(data_error_of([&] { open_dataset("cifar10", folder.path()); }),
            fmt::format("data set cifar10 is missing ({}/cifar10.packed does not exist); run: "
                        "approxtrain data fetch cifar10, or: approxtrain data import cifar10 PATH",
                        folder.path()));
  EXPECT_EQ(dataset_checksum("cifar10", folder.path()), "");
}

TEST(Datasets, UnknownOnesAreUsageErrors) {
  try {
    open_dataset("cifar", "/nowhere");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_CONTAINS(std::string(error.what()), "known: cifar10, cifar100, ");
  }
  EXPECT_THROW(dataset_checksum("cifar", ""), Error);
  EXPECT_THROW(import_dataset("mnist14", "x", "y"), Error);
  EXPECT_THROW(import_dataset("mnist", "x", "y", {.limit = PhotoLimit{.side = 300}}), Error);
}

TEST(Mnist14, ComesWithTheProgram) {
  const auto dataset = open_dataset("mnist14", "/nowhere");
  EXPECT_EQ(shape_of(dataset),
            static_cast<const DatasetShape&>(Registry<DatasetEntry>::instance().find("mnist14")));
  for (const auto& [part, each] : {std::pair{&dataset.train, 500}, {&dataset.test, 100}}) {
    std::array<int, 10> count{};
    for (const auto label : part->labels) ++count[static_cast<size_t>(label)];
    for (const auto n : count) EXPECT_EQ(n, each);
  }
  EXPECT_NEAR(dataset.mean.at(0), 0.13, 0.01);
  EXPECT_NEAR(dataset.stddev.at(0), 0.28, 0.03);
  // Raised together with the entry's version when the subset changes: results depend on it.
  EXPECT_EQ(dataset.sha256, "38f8f7ce8d76ca7bf4ce500ca1c2cb03aba9b93331c8fe09431f7f05a2f6927a");
  EXPECT_EQ(dataset_checksum("mnist14", ""), dataset.sha256);
}

TEST(Import, RefusesWhatIsNotThatDataSet) {
  const TemporaryFolder folder;
  fs::create_directories(folder / "empty");
  const auto error = [&](const char* name, const std::string& from) {
    auto message = data_error_of([&] { import_dataset(name, from, folder / "data"); });
    EXPECT_FALSE(fs::exists(folder / "data")) << "something was written";
    return message;
  };
  EXPECT_CONTAINS(error("mnist", folder / "empty"), "train-images-idx3-ubyte.gz");
  EXPECT_CONTAINS(error("cifar10", folder / "empty"), "expected data_batch_1.bin, or train/");
  EXPECT_CONTAINS(error("cifar100", folder / "empty"), "expected train.bin in it");
  EXPECT_CONTAINS(error("cifar10", folder / "none"), "no such file");
  write_bytes(folder / "short.tar", tar_of({{"x/data_batch_1.bin", Buffer(3073)}}));
  EXPECT_CONTAINS(error("cifar10", folder / "short.tar"), "data_batch_1.bin: at byte 3073");
}

// CIFAR-10 and CIFAR-100 in their official layout, in full size.
TEST(Import, ReadsCifarBinaries) {
  const TemporaryFolder folder;
  const auto records = [](int count, int label_bytes, int classes) {
    Buffer bytes(static_cast<size_t>(count) * (label_bytes + 3072), 100);
    for (int i = 0; i < count; ++i) {
      bytes[i * (label_bytes + 3072) + label_bytes - 1] = static_cast<uint8_t>(i % classes);
    }
    return bytes;
  };
  for (int i = 1; i <= 5; ++i) {
    write_bytes(folder / fmt::format("ten/data_batch_{}.bin", i), records(10000, 1, 10));
  }
  write_bytes(folder / "ten/test_batch.bin", records(10000, 1, 10));
  write_bytes(folder / "ten/._data_batch_1.bin", bytes_of("x"));
  const auto ten = import_dataset("cifar10", folder / "ten/", folder / "data");
  EXPECT_EQ(ten.junk, 1);
  EXPECT_EQ(ten.variant, "official");
  EXPECT_EQ(ten.source, "ten");
  EXPECT_FALSE(ten.lossy);
  EXPECT_EQ(ten.train.count, 50000);
  EXPECT_EQ(ten.train.labels[10007], 7);

  write_bytes(folder / "hundred/train.bin", records(50000, 2, 100));
  write_bytes(folder / "hundred/test.bin", records(10000, 2, 100));
  const auto hundred = import_dataset("cifar100", folder / "hundred", folder / "data");
  EXPECT_EQ(hundred.train.labels[199], 99);
  EXPECT_EQ(dataset_checksum("cifar100", folder / "data"), hundred.sha256);

  // A packed file under another set's name is not that set.
  fs::copy_file(folder / "data/cifar100.packed", folder / "data/cifar10.packed",
                fs::copy_options::overwrite_existing);
  EXPECT_CONTAINS(data_error_of([&] { open_dataset("cifar10", folder / "data"); }),
                  "expected the data set cifar10, found cifar100");
}

TEST(Import, ReadsTheRealMnist) {
  if (real_data().empty()) GTEST_SKIP() << "APPROXTRAIN_TEST_DATA is not set";
  const TemporaryFolder folder;
  const auto dataset = import_dataset("mnist", real_data() + "/mnist", folder.path());
  EXPECT_NEAR(dataset.mean.at(0), 0.1307, 0.0001);
  EXPECT_NEAR(dataset.stddev.at(0), 0.3081, 0.0001);
  EXPECT_EQ(std::vector<int64_t>(dataset.train.labels.begin(), dataset.train.labels.begin() + 6),
            (std::vector<int64_t>{5, 0, 4, 1, 9, 2}));
  EXPECT_EQ(open_dataset("mnist", folder.path()).sha256, dataset.sha256);

  // One pixel of a well-formed file is altered.
  fs::copy(real_data() + "/mnist", folder / "altered");
  const auto name = folder / "altered/t10k-images-idx3-ubyte.gz";
  auto content = gunzip(read_file(name, 1 << 26), name, 1 << 26);
  content[5000] ^= 1;
  write_bytes(name, gzip(content));
  EXPECT_CONTAINS(data_error_of([&] { import_dataset("mnist", folder / "altered", folder / "d"); }),
                  "t10k-images-idx3-ubyte.gz: expected content with md5");
}

}  // namespace
}  // namespace approx::testing
