#include "kernels/dense/dense.h"
#include "kernels/multiplications.h"

namespace approx {
namespace {

void exact_product(const Arguments<Dense, double>& args, int64_t begin, int64_t end) {
  multiply_all(args, begin, end);
}

REGISTER_KERNEL(Dense, "reference", exact_product).definition();

}  // namespace
}  // namespace approx
