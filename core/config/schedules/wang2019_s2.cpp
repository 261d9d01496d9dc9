// Wang et al. 2019, section 3.4: "every other layer for every other batch". Which layer and which
// batch come first is not stated: the second convolution, as in schedule 1, and batch 0.
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> wang2019_s2(const Params& /*params*/) {
  return {{.layers = "2::2", .steps = "::2", .products = {Product::kWeightGradient}}};
}

REGISTER_SCHEDULE("wang2019_s2", wang2019_s2)
    .about("every other convolution from the second, every other batch")
    .from_paper("wang2019", "section 3.4");

}  // namespace
}  // namespace approx
