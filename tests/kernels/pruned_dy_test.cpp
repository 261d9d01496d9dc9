#include "kernels/pruned_dy/pruned_dy.h"

#include <ATen/Parallel.h>
#include <hwy/targets.h>

#include <limits>

#include "kernels/select/select.h"
#include "products/rules.h"
#include "tests/kernels/plan_contract.h"
#include "tests/reference.h"

namespace approx {
namespace {

PrunedDY random_pruned(const Operands& o) {
  const auto dy = o.dy * (at::rand_like(o.dy) < 0.3);
  return {dy, dy.count_nonzero()};
}

TEST(PrunedDY, EveryVariantAgreesWithTheDefinition) {
  for (auto& o : uneven_operands(20, 71)) {
    const auto plan = random_pruned(o);
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      o.product = product;
      expect_variants_agree(plan, o);
    }
  }
}

TEST(PrunedDY, IsTheExactProductOfTheTensorInItsPlace) {
  auto o = uneven_operands(1, 72)[0];
  const auto plan = random_pruned(o);
  Operands replaced = o;
  replaced.dy = plan.dy;
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    o.product = replaced.product = product;
    EXPECT_TRUE(at::equal(run(plan, o), run(Dense{}, replaced))) << name(product);
  }
  EXPECT_EQ(plan_macs(plan, o), plan.kept.item<int64_t>() * o.w[0].numel());
  EXPECT_TRUE(used_gradient(plan, o.dy).is_same(plan.dy));
}

TEST(PrunedDY, LinearLayersAndTapsTakeOurOwnExactProducts) {
  for (const auto& shape : {TestShape{64, 128, 2, 160, 3, 1, 1}, TestShape{5, 7, 1, 3, 1, 1, 0}}) {
    auto o = random_operands(shape);
    const auto plan = random_pruned(o);
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      o.product = product;
      expect_variants_agree(plan, o);
    }
  }
}

#if HWY_ARCH_X86
// Vectors of every width read no more than there is, from wherever it lies.
TEST(PrunedDY, EveryVariantAgreesInNarrowVectors) {
  for (const auto target : {HWY_AVX2, HWY_SSE4, HWY_SSSE3}) {
    if ((hwy::SupportedTargets() & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    for (const int64_t channels : {16, 18, 50}) {
      auto o = random_operands({2, 16, 5, channels, 3, 1, 1});
      const auto plan = random_pruned(o);
      for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
        o.product = product;
        expect_variants_agree(plan, o);
      }
    }
    hwy::SetSupportedTargetsForTest(0);
  }
}
#endif

double told_density = 0;

TEST(PrunedDY, LoopsAreToldHowMuchWasKept) {
  auto o = random_operands({2, 3, 5, 4, 3, 1, 1});
  o.product = Product::kWeightGradient;
  const auto plan = random_pruned(o);
  const Work<PrunedDY, float> work{
      .whole = [](const Arguments<PrunedDY, float>& args, const Team& /*team*/) {
        told_density = args.problem.density;
      }};
  Arguments<PrunedDY, float>::run(work, plan, o);
  EXPECT_EQ(told_density, plan.kept.item<double>() / static_cast<double>(plan.dy.numel()));
}

// dY with a share of its entries.
PrunedDY sparse(const at::Tensor& dy, double density) {
  return counted(at::where(at::rand(dy.sizes()) < density, dy, at::zeros_like(dy))
                     .contiguous(at::MemoryFormat::ChannelsLast));
}

// What the product of a plan should be, from plain loops in double precision.
at::Tensor by_definition(const PrunedDY& plan, const Operands& o) {
  auto replaced = o;
  replaced.dy = plan.dy;
  return reference::product(replaced).tensor();
}

void expect_definition(const TestShape& shape, Product product, const std::string& variant) {
  SCOPED_TRACE(shape);
  auto o = random_operands(shape);
  o.product = product;
  for (const double density : {0.0, 0.05, 0.5, 1.0}) {
    SCOPED_TRACE(density);
    const auto plan = sparse(o.dy, density);
    EXPECT_CLOSE(run(plan, o, variant), by_definition(plan, o));
  }
}

// A NaN that a kernel of 3x3 multiplies for 16 input channels, by the ways of few output channels
// and of many.
void expect_not_a_number_kept(Product product, const std::string& variant) {
  for (const int64_t channels : {8, 40, 130}) {
    auto o = random_operands({1, 16, 5, channels, 3, 1, 1});
    o.product = product;
    o.dy.zero_();
    o.dy.select(1, 3).select(1, 2).select(1, 1).fill_(std::numeric_limits<float>::quiet_NaN());
    const auto plan = counted(o.dy.contiguous(at::MemoryFormat::ChannelsLast));
    EXPECT_EQ(run(plan, o, variant).isnan().sum().item<int64_t>(), 16 * 9) << channels;
  }
}

TEST(PrunedDY, SparseRowsAgreeWithPlainLoops) {
  // Blocks of four, two and one vectors of input channels; output channels that fill no vector and
  // more than one block; several images together, with a rest; kernels of several widths; strides
  // that leave pixels out.
  at::manual_seed(21);
  for (const auto& shape : {TestShape{3, 16, 9, 5, 3, 1, 1}, TestShape{2, 48, 7, 37, 3, 1, 1},
                            TestShape{37, 112, 4, 130, 3, 1, 1}, TestShape{2, 64, 6, 20, 5, 1, 2},
                            TestShape{2, 32, 6, 9, 1, 1, 0}, TestShape{2, 16, 8, 9, 3, 1, 0},
                            TestShape{2, 16, 8, 9, 3, 1, 2}, TestShape{1, 16, 1, 3, 3, 1, 1},
                            TestShape{2, 32, 8, 9, 3, 2, 1}, TestShape{3, 48, 7, 20, 3, 2, 0},
                            TestShape{2, 64, 9, 5, 1, 2, 0}, TestShape{2, 16, 11, 7, 5, 2, 2}}) {
    expect_definition(shape, Product::kDataGradient, "sparse_rows");
  }
}

TEST(PrunedDY, SparseRowsKeepWhatIsNoNumber) {
  expect_not_a_number_kept(Product::kDataGradient, "sparse_rows");
}

TEST(PrunedDY, SparseListsAgreeWithPlainLoops) {
  // All windows of taps; channels that fill no vector; tiles of some rows and of several images,
  // with a rest; strides, and padding up to the whole map; many channels, of which few entries are
  // dealt out one by one.
  at::manual_seed(22);
  for (const auto& shape :
       {TestShape{3, 16, 9, 5, 3, 1, 1}, TestShape{2, 37, 40, 9, 3, 1, 1},
        TestShape{37, 112, 4, 33, 3, 1, 1}, TestShape{2, 64, 6, 20, 5, 1, 2},
        TestShape{2, 20, 6, 3, 5, 2, 1}, TestShape{2, 12, 9, 4, 7, 2, 3},
        TestShape{2, 128, 6, 9, 1, 1, 0}, TestShape{2, 72, 6, 9, 1, 2, 0},
        TestShape{2, 33, 5, 4, 2, 1, 1}, TestShape{1, 3, 1, 3, 3, 1, 1},
        TestShape{5, 20, 9, 130, 3, 1, 1}, TestShape{37, 16, 4, 161, 5, 2, 2}}) {
    expect_definition(shape, Product::kWeightGradient, "sparse_lists");
  }
}

TEST(PrunedDY, SparseListsKnowDilationAndEachDirection) {
  for (auto& o : uneven_operands(30, 73)) {
    if (o.geometry.groups != 1) continue;
    const auto plan = sparse(o.dy, 0.3);
    EXPECT_CLOSE(run(plan, o, "sparse_lists"), by_definition(plan, o));
  }
}

TEST(PrunedDY, SparseListsKeepWhatIsNoNumber) {
  expect_not_a_number_kept(Product::kWeightGradient, "sparse_lists");
}

TEST(PrunedDY, SparseKernelsGiveTheSameBitsOnAnyNumberOfThreads) {
  auto o = random_operands({9, 48, 6, 140, 3, 1, 1});
  const auto plan = sparse(o.dy, 0.2);
  const int before = at::get_num_threads();
  for (const auto& [product, variant] : {std::pair{Product::kDataGradient, "sparse_rows"},
                                         std::pair{Product::kWeightGradient, "sparse_lists"}}) {
    o.product = product;
    const auto several = run(plan, o, variant);
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(at::equal(run(plan, o, variant), several)) << variant << " " << threads;
    }
    at::set_num_threads(before);
  }
}

TEST(PrunedDY, SparseKernelsAreTakenWhereLittleIsLeft) {
  auto o = random_operands({4, 64, 8, 64, 3, 1, 1});
  const auto few = sparse(o.dy, 0.2), many = sparse(o.dy, 0.7);
  EXPECT_TRUE(at::equal(run(few, o), run(few, o, "sparse_lists")));
  EXPECT_TRUE(at::equal(run(many, o), run(many, o, "exact")));
  o.product = Product::kDataGradient;
  EXPECT_TRUE(at::equal(run(few, o), run(few, o, "sparse_rows")));
  EXPECT_TRUE(at::equal(run(many, o), run(many, o, "exact")));
  o.geometry.stride = 3;
  o.dy = o.dy.slice(2, 0, 3).slice(3, 0, 3).contiguous(at::MemoryFormat::ChannelsLast);
  EXPECT_THROW(run(sparse(o.dy, 0.2), o, "sparse_rows"), Error);
}

// Where the count is on a device, rules go by the share that is expected.
TEST(PrunedDY, AShareThatIsExpectedStandsInForACountThatIsElsewhere) {
  auto o = random_operands({4, 64, 8, 64, 3, 1, 1});
  o.product = Product::kDataGradient;
  PrunedDY plan{o.dy, at::empty({}, at::TensorOptions().dtype(at::kLong).device(at::kMeta))};
  const auto chosen = [&] {
    for (const auto& candidate : explain(plan, o)) {
      if (candidate.chosen) return candidate.name;
    }
    return std::string();
  };
  EXPECT_EQ(chosen(), "exact") << "nothing is known of it";
  plan.expected_density = 0.2;
  EXPECT_EQ(chosen(), "sparse_rows");
  plan.kept = at::scalar_tensor(o.dy.numel(), at::kLong);
  EXPECT_EQ(chosen(), "exact") << "what is counted here counts";
}

TEST(PrunedDY, ADensityDecidesWhereARuleGoesByIt) {
  for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
    auto wide = random_operands({4, 64, 8, 64, 3, 1, 1}),
         narrow = random_operands({4, 8, 1, 8, 1, 1, 0});
    wide.product = narrow.product = product;
    EXPECT_TRUE(density_decides(wide));
    EXPECT_FALSE(density_decides(narrow)) << "no rule is true of it at any density";
    use_kernel_rules("sparse_rows * * * * * * never\nsparse_lists * * * * * * ..0.1");
    EXPECT_TRUE(density_decides(wide)) << "of the weight gradient, whichever is asked of";
    use_kernel_rules("sparse_rows * * * * * * never\nsparse_lists * * * * * * *");
    EXPECT_FALSE(density_decides(wide)) << "nor of none";
    use_kernel_rules("");
  }
}

}  // namespace
}  // namespace approx
