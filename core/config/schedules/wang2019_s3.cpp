// Wang et al. 2019, section 3.4: "every layer for every fourth batch". The first convolution is
// left exact here, because section 3 says that approximating it is difficult; first=true follows
// the sentence to the letter. The batch is not stated: batch 0 and every fourth after it.
#include "core/config/named_schedule.h"

namespace approx {
namespace {

std::vector<Rule> wang2019_s3(const Params& params) {
  return {{.layers = params.flag("first") ? "1::1" : "2::1",
           .steps = "::4",
           .products = {Product::kWeightGradient}}};
}

REGISTER_SCHEDULE("wang2019_s3", wang2019_s3)
    .about("every convolution but the first, every fourth batch")
    .from_paper("wang2019", "section 3.4")
    .param({"first", false, "approximate the first convolution too"});

}  // namespace
}  // namespace approx
