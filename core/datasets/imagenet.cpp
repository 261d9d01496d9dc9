// imagenet: ILSVRC 2012 (Russakovsky et al. 2015), classification, in 1000 classes. Read from the
// usual folders train/<wnid>/*.JPEG and val/<wnid>/*.JPEG; labels are in the order of the WordNet
// numbers. Photographs are stored with a shorter side of at most 293 pixels: an evaluation at 256
// pixels (McDanel et al. 2022) looks at the middle 256 of them, and one at 224 at fewer.
#include "core/data/dataset.h"

namespace approx {
namespace {

REGISTER_DATASET("imagenet")
    .described("photographs of 1000 classes, shorter side at most 293 (ILSVRC 2012)")
    .shaped({.classes = 1000,
             .channels = 3,
             .height = 224,
             .width = 224,
             .n_train = 1'281'167,
             .n_test = 50'000})
    .photographs({.shorter_side = 293});

}  // namespace
}  // namespace approx
