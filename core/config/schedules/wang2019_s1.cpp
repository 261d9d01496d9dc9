// Wang et al. 2019, section 3: "every fourth convolutional layer every training batch, starting
// from the second convolutional layer": five layers of ResNet-20, four of VGG-19.
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> wang2019_s1(const Params& /*params*/) {
  return {{.layers = "2::4", .steps = "::1", .products = {Product::kWeightGradient}}};
}

REGISTER_SCHEDULE("wang2019_s1", wang2019_s1)
    .about("every fourth convolution from the second, every batch")
    .from_paper("wang2019", "section 3");

}  // namespace
}  // namespace approx
