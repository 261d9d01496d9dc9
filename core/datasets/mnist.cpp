// mnist: the handwritten digits of LeCun, Cortes and Burges, 28x28 grey.
//
// The four official IDX files, plain or gzip. The content is held to the MD5 sums of the
// uncompressed files, whatever program compressed them.
#include <filesystem>

#include "base/digest.h"
#include "core/data/bytes.h"
#include "core/data/dataset.h"
#include "core/data/idx.h"
#include "core/data/junk.h"

namespace approx {
namespace {

namespace fs = std::filesystem;

struct File {
  std::string path;
  std::vector<uint8_t> content;
};

// One of the official files in `folder`, with or without .gz, uncompressed.
File read_official(const std::string& folder, const std::string& name) {
  constexpr int64_t kMaxBytes = 1 << 26;
  for (const auto* suffix : {".gz", ""}) {
    const auto path = (fs::path(folder) / (name + suffix)).string();
    std::error_code error;
    if (!fs::exists(path, error)) continue;
    auto bytes = read_file(path, kMaxBytes);
    if (is_gzip(bytes)) bytes = gunzip(bytes, path, kMaxBytes);
    return {path, std::move(bytes)};
  }
  throw data_error("{}: expected the file {}.gz or {} in this folder, found neither", folder, name,
                   name);
}

void check_md5(const File& file, const std::string& expected) {
  const auto found = digest_hex("md5", file.content);
  if (found != expected) {
    throw data_error("{}: expected content with md5 {}, found {}; this is not the file of MNIST",
                     file.path, expected, found);
  }
}

LoadedDataset import_mnist(const std::string& path) {
  const auto read_pair = [&](const std::string& part, const char* images_md5,
                             const char* labels_md5) {
    const auto images = read_official(path, part + "-images-idx3-ubyte");
    const auto labels = read_official(path, part + "-labels-idx1-ubyte");
    auto buffer = read_idx_pair(images.content, images.path, labels.content, labels.path);
    check_md5(images, images_md5);
    check_md5(labels, labels_md5);
    return buffer;
  };
  auto train =
      read_pair("train", "6bbc9ace898e44ae57da46a324031adb", "a25bea736e30d166cdddb491f175f624");
  auto test =
      read_pair("t10k", "2646ac647ad5339dbf082846283269ea", "27ae3e4e09519cfbb04c329615203637");
  auto dataset = make_dataset({.name = "mnist",
                               .variant = "official",
                               .source = "the four IDX files of MNIST",
                               .classes = 10},
                              std::move(train), std::move(test));
  dataset.junk = count_junk(path);
  return dataset;
}

const std::string kMirror = "https://ossci-datasets.s3.amazonaws.com/mnist/";

RemoteFile official(const std::string& name, const char* md5, int64_t bytes) {
  return {.url = kMirror + name, .file_name = name, .md5 = md5, .bytes = bytes};
}

REGISTER_DATASET("mnist")
    .described("handwritten digits, 28x28 grey")
    .shaped({.classes = 10,
             .channels = 1,
             .height = 28,
             .width = 28,
             .n_train = 60000,
             .n_test = 10000})
    .fetched_from(official("train-images-idx3-ubyte.gz", "f68b3c2dcbeaaa9fbdd348bbdeb94873",
                           9912422))
    .fetched_from(official("train-labels-idx1-ubyte.gz", "d53e105ee54ea40749a09fcbcd1e9432", 28881))
    .fetched_from(official("t10k-images-idx3-ubyte.gz", "9fb629c4189551a2d022fa330f9573f3",
                           1648877))
    .fetched_from(official("t10k-labels-idx1-ubyte.gz", "ec29112dd5afa0611ce80d1b7f02629c", 4542))
    .imported_by(import_mnist);

}  // namespace
}  // namespace approx
