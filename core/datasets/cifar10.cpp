// cifar10: 32x32 colour photographs in ten classes (Krizhevsky 2009).
//
// Read from the official binary version (folder or .tar.gz), or from train/<class>/ and
// test/<class>/ folders of JPEG or PNG files. A JPEG copy has lost a little of the pictures, so it
// is another variant, marked as lossy: tables say so.
#include <algorithm>

#include "core/data/archive.h"
#include "core/data/cifar.h"
#include "core/data/dataset.h"
#include "core/data/folder_layout.h"
#include "core/data/image_folder.h"
#include "core/data/source_text.h"

namespace approx {
namespace {

constexpr const char* kCifar10Md5 = "c32a1d4ab5d03f1284b67883e8d87530";

// The order of the labels in the binary version; it is also the sorted order.
const std::vector<std::string> kClasses = {"airplane", "automobile", "bird",  "cat",  "deer",
                                           "dog",      "frog",       "horse", "ship", "truck"};

LoadedDataset import_cifar10(const std::string& path) {
  // Which of the versions this is, by the names alone.
  const CifarFiles official = {.train = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
                                         "data_batch_4.bin", "data_batch_5.bin"},
                               .test = {"test_batch.bin"}};
  std::string binary, image;
  const auto note = [&](std::string_view name) {
    const auto base = name.substr(name.rfind('/') + 1);
    if (base == official.test[0] ||
        std::ranges::find(official.train, base) != official.train.end()) {
      binary = name;
    } else if (is_image_name(base) && parse_folder_name(name)) {
      image = name;
    }
    return false;
  };
  visit_files(path, {}, note, [](const std::string&, std::string_view, Bytes) { return true; });
  if (binary.empty() && image.empty()) {
    throw data_error("{}: expected data_batch_1.bin, or train/<class>/*.jpg, found neither", path);
  }
  if (!binary.empty() && !image.empty()) {
    throw data_error(
        "{}: expected one version of the data set, found the binary {} and the image {}; give the "
        "folder of one",
        path, binary, image);
  }
  if (!image.empty()) {
    return read_image_folder(
        path, {.size = {.height = 32, .width = 32, .channels = 3}, .classes = kClasses},
        {.name = "cifar10", .source = source_text(path)});
  }
  DatasetFacts facts{.name = "cifar10", .source = source_text(path, kCifar10Md5), .classes = 10};
  facts.variant = "official";
  return read_cifar(path, official, {.label_bytes = 1, .classes = 10}, std::move(facts));
}

REGISTER_DATASET("cifar10")
    .described("colour photographs, 32x32, of animals and vehicles")
    .shaped({.classes = 10,
             .channels = 3,
             .height = 32,
             .width = 32,
             .n_train = 50000,
             .n_test = 10000})
    .fetched_from({.url = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
                   .file_name = "cifar-10-binary.tar.gz",
                   .md5 = kCifar10Md5,
                   .bytes = 170052171})
    .imported_by(import_cifar10);

}  // namespace
}  // namespace approx
