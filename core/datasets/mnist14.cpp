// mnist14: a small MNIST that comes with the program: 5,000 + 1,000 images, 14x14 grey, each class
// equally often (scripts/make-mnist14).
#include "core/data/dataset.h"
#include "core/data/idx.h"

// The four files as part of the object file: the installed program needs no sources. CMake defines
// MNIST14_DIR for this file alone, and compiles it anew when one of them changes.
#define EMBED(SYMBOL, FILE)                            \
  __asm__(                                             \
      ".pushsection .rodata\n"                         \
      ".balign 16\n" #SYMBOL                           \
      "_begin:\n"                                      \
      ".incbin \"" MNIST14_DIR "/" FILE "\"\n" #SYMBOL \
      "_end:\n"                                        \
      ".byte 0\n"                                      \
      ".popsection\n");                                \
  extern "C" __attribute__((visibility("hidden"))) const uint8_t SYMBOL##_begin[], SYMBOL##_end[]

EMBED(approx_mnist14_train_images, "train-images-idx3-ubyte.gz");
EMBED(approx_mnist14_train_labels, "train-labels-idx1-ubyte.gz");
EMBED(approx_mnist14_test_images, "t10k-images-idx3-ubyte.gz");
EMBED(approx_mnist14_test_labels, "t10k-labels-idx1-ubyte.gz");

namespace approx {
namespace {

LoadedDataset read_mnist14() {
  auto train = read_idx_pair({approx_mnist14_train_images_begin, approx_mnist14_train_images_end},
                             "mnist14: training images",
                             {approx_mnist14_train_labels_begin, approx_mnist14_train_labels_end},
                             "mnist14: training labels");
  auto test = read_idx_pair(
      {approx_mnist14_test_images_begin, approx_mnist14_test_images_end}, "mnist14: test images",
      {approx_mnist14_test_labels_begin, approx_mnist14_test_labels_end}, "mnist14: test labels");
  return make_dataset(
      {.name = "mnist14", .variant = "subset", .source = "comes with the program", .classes = 10},
      std::move(train), std::move(test));
}

// Read once: planning a sweep asks for its checksum for every run.
LoadedDataset embedded_mnist14() {
  static const LoadedDataset dataset = read_mnist14();
  return dataset;
}

REGISTER_DATASET("mnist14")
    .described("a small MNIST that comes with the program, 14x14 grey")
    .shaped(
        {.classes = 10, .channels = 1, .height = 14, .width = 14, .n_train = 5000, .n_test = 1000})
    .embedded_as(embedded_mnist14);

}  // namespace
}  // namespace approx
