#include "kernels/kernel.h"
#include "tests/reference.h"

namespace approx {
namespace {

TEST(Dense, AgreesWithPlainLoopsOnEveryProduct) {
  for (const auto& shape : random_shapes(40, 41)) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    for (const auto product : kAllProducts) {
      o.product = product;
      EXPECT_CLOSE(run(Dense{}, o), reference::product(o).tensor()) << name(product);
    }
  }
}

// The sizes at which oneDNN's own weight gradient is wrong or never returns on some machines
// (uxlfoundation/oneDNN#6035). Each several times, since it depends on what memory held before.
TEST(Dense, StridedPointwiseWeightGradientsOfFewChannelsAreRight) {
  for (const auto& shape : {TestShape{2, 3, 8, 40, 1, 2, 0}, TestShape{2, 7, 4, 16, 1, 2, 0},
                            TestShape{4, 6, 5, 20, 1, 2, 0}, TestShape{2, 15, 16, 32, 1, 2, 0},
                            TestShape{2, 2, 4, 9, 1, 3, 0}}) {
    SCOPED_TRACE(shape);
    const auto o = random_operands(shape);
    const auto expected = reference::product(o).tensor();
    for (int i = 0; i < 5; ++i) {
      EXPECT_CLOSE(run(Dense{}, o), expected);
      const auto both = dense_gradients(o, true, true);
      EXPECT_CLOSE(both.second, expected);
      EXPECT_EQ(both.first.sizes(), o.x.sizes());
    }
  }
}

}  // namespace
}  // namespace approx
