// Wang et al. 2019, section 3: on the 2-layer CNN "the second convolutional layer every other
// training batch". Which batch comes first is not stated: batch 0.
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> wang2019_cnn2(const Params& /*params*/) {
  return {{.layers = "2", .steps = "::2", .products = {Product::kWeightGradient}}};
}

REGISTER_SCHEDULE("wang2019_cnn2", wang2019_cnn2)
    .about("the second convolution, every other batch")
    .from_paper("wang2019", "section 3");

}  // namespace
}  // namespace approx
