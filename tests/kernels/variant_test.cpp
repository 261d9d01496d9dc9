// A variant is one file that registers itself: this one.
#include "kernels/dense/dense.h"
#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

constexpr int64_t kOdd = 12'347;  // examples: no other test has as many

void all_ones(const Arguments<Dense, float>& args, int64_t begin, int64_t end) {
  std::fill(args.slice(begin), args.slice(end), 1.0f);
}

REGISTER_KERNEL(Dense, "ones", all_ones)
    .computes({Product::kForward})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where([](const Problem& p) { return p.n == kOdd; })
    .rank(0);

TEST(Variant, IsFoundByItsRegistrationAndTakenWhereItFits) {
  auto o = random_operands({kOdd, 1, 2, 1, 1, 1, 0});
  o.product = Product::kForward;
  EXPECT_EQ(variants(Dense{}, o).front(), "ones");
  EXPECT_TRUE(at::equal(run(Dense{}, o), at::ones({kOdd, 1, 2, 2})));
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    o.product = product;
    EXPECT_THROW(run(Dense{}, o, "ones"), Error);
  }
  o.product = Product::kForward;
  o.x = o.x.to(at::kDouble), o.w = o.w.to(at::kDouble);
  EXPECT_THROW(run(Dense{}, o, "ones"), Error);
  auto smaller = random_operands({3, 1, 2, 1, 1, 1, 0});
  smaller.product = Product::kForward;
  EXPECT_NE(variants(Dense{}, smaller).front(), "ones");
}

TEST(Variant, AnUnknownNameIsAnError) {
  EXPECT_THROW(run(Dense{}, random_operands({2, 3, 5, 7, 3, 1, 1}), "magic"), Error);
}

}  // namespace
}  // namespace approx
