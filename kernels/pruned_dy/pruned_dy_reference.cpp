#include "kernels/multiplications.h"
#include "kernels/pruned_dy/pruned_dy.h"

namespace approx {
namespace {

void exact_product_of_pruned(const Arguments<PrunedDY, double>& args, int64_t begin, int64_t end) {
  multiply_all(args, begin, end);
}

REGISTER_KERNEL(PrunedDY, "reference", exact_product_of_pruned)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .definition();

}  // namespace
}  // namespace approx
