// imagenette224: ten easily told classes of ImageNet (Howard 2019, Imagenette), with the shorter
// side of every photograph reduced to 224 pixels. Labels are in the order of the WordNet numbers.
#include "core/data/dataset.h"

namespace approx {
namespace {

REGISTER_DATASET("imagenette224")
    .described("photographs of ten ImageNet classes, shorter side 224")
    .shaped({.classes = 10,
             .channels = 3,
             .height = 224,
             .width = 224,
             .n_train = 9469,
             .n_test = 3925})
    .photographs({.shorter_side = 224,
                  .classes = {"n01440764", "n02102040", "n02979186", "n03000684", "n03028079",
                              "n03394916", "n03417042", "n03425413", "n03445777", "n03888257"}});

}  // namespace
}  // namespace approx
