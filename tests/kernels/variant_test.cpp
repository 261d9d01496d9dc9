// A variant is one file that registers itself: this one.
#include <gmock/gmock.h>

#include "kernels/dense/dense.h"
#include "kernels/library.h"
#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

using ::testing::Contains, ::testing::HasSubstr, ::testing::Not;

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

#ifdef ADDED_CUDA_KERNELS
// What tests/additions/kernels/ has for a GPU, in a library of its own (tests/additions.cmake).
TEST(Variant, OfALibraryForAGpuIsFoundOnceThatIsOpened) {
  const Problem problem{.product = Product::kWeightGradient,
                        .geometry = {},
                        .device = Hardware::kCuda,
                        .layout = MapLayout::kChannelsLast};
  const auto fitting = [&](const Problem& p) {
    std::vector<std::string> names;
    for (const auto& variant : Registry<Variant<Dense>>::instance().entries()) {
      if (variant.fits(p)) names.push_back(variant.name);
    }
    return names;
  };
  EXPECT_THAT(fitting(problem), Not(Contains("added_cuda")));
  open_kernels(ADDED_CUDA_KERNELS);
  open_kernels(ADDED_CUDA_KERNELS);
  EXPECT_THAT(fitting(problem), Contains("added_cuda").Times(1));
  Problem on_cpu = problem;
  on_cpu.device = Hardware::kCpu;
  EXPECT_THAT(fitting(on_cpu), Not(Contains("added_cuda")));
}
#endif

TEST(Variant, ALibraryThatIsNotThereIsAnErrorWithItsName) {
  try {
    open_kernels("no/such/library.so");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kDevice);
    EXPECT_THAT(error.what(), HasSubstr("no/such/library.so"));
  }
}

TEST(Variant, AnUnknownNameIsAnError) {
  EXPECT_THROW(run(Dense{}, random_operands({2, 3, 5, 7, 3, 1, 1}), "magic"), Error);
}

}  // namespace
}  // namespace approx
