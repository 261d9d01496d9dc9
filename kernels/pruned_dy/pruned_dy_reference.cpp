#include "kernels/multiplications.h"
#include "kernels/pruned_dy/pruned_dy.h"

namespace approx {
namespace {

void pruned_definition(const Arguments<PrunedDY, double>& args, int64_t begin, int64_t end) {
  multiply_all(args, begin, end);
}

REGISTER_KERNEL(PrunedDY, "reference", pruned_definition)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .definition();

}  // namespace
}  // namespace approx
