// cifar100: 32x32 colour photographs with the 100 fine labels (Krizhevsky 2009), from the official
// binary version (folder or .tar.gz).
#include "core/data/cifar.h"
#include "core/data/dataset.h"
#include "core/data/source_text.h"

namespace approx {
namespace {

constexpr const char* kCifar100Md5 = "03b5dce01913d631647c71ecec9e9cb8";

LoadedDataset import_cifar100(const std::string& path) {
  return read_cifar(
      path,
      {.train = {"train.bin"}, .test = {"test.bin"}, .train_count = 50000, .test_count = 10000},
      {.label_bytes = 2, .classes = 100},
      {.name = "cifar100",
       .variant = "official",
       .source = source_text(path, kCifar100Md5),
       .classes = 100});
}

REGISTER_DATASET("cifar100")
    .described("colour photographs, 32x32, in 100 classes (fine labels)")
    .shaped({.classes = 100,
             .channels = 3,
             .height = 32,
             .width = 32,
             .n_train = 50000,
             .n_test = 10000})
    .fetched_from({.url = "https://www.cs.toronto.edu/~kriz/cifar-100-binary.tar.gz",
                   .file_name = "cifar-100-binary.tar.gz",
                   .md5 = kCifar100Md5,
                   .bytes = 168513733})
    .imported_by(import_cifar100);

}  // namespace
}  // namespace approx
