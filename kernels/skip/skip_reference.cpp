#include "kernels/skip/skip.h"

namespace approx {
namespace {

void zeros(const Arguments<Skip, double>& args, int64_t begin, int64_t end) {
  std::fill(args.slice(begin), args.slice(end), 0.0);
}

REGISTER_KERNEL(Skip, "reference", zeros)
    .computes({Product::kDataGradient, Product::kWeightGradient})
    .definition();

}  // namespace
}  // namespace approx
