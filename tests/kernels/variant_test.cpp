// A variant is one file that registers itself: this one.
#include <gmock/gmock.h>

#include <algorithm>

#include "kernels/dense/dense.h"
#include "kernels/float16.h"
#include "kernels/gpu/launches.h"
#include "kernels/gpu/probes.h"
#include "kernels/gpu/uniform_args.h"
#include "kernels/library.h"
#include "kernels/norm/norm_on_gpu.h"
#include "kernels/pruned_dy/pruned_dy.h"
#include "kernels/sampled/channels.h"
#include "kernels/select/magnitude.h"
#include "kernels/select/peak.h"
#include "kernels/select/pruned.h"
#include "kernels/select/squares.h"
#include "kernels/sparse_dy/sparse_dy.h"
#include "products/rules.h"
#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

using ::testing::Contains, ::testing::HasSubstr, ::testing::Not;

constexpr int64_t kOdd = 12'347, kFussy = 12'349;  // examples: no other test has as many

void all_ones(const Arguments<Dense, float>& args, int64_t begin, int64_t end) {
  std::fill(args.slice(begin), args.slice(end), 1.0f);
}

REGISTER_KERNEL(Dense, "ones", all_ones)
    .computes({Product::kForward})
    .on({Hardware::kCpu})
    .reads({ElementType::kFloat})
    .where([](const Problem& p) { return p.n == kOdd || p.n == kFussy; })
    .rank(0);

// Before "ones" by its rank, and by its rule nowhere worth it.
REGISTER_KERNEL(Dense, "fussy", all_ones)
    .computes({Product::kForward})
    .where([](const Problem& p) { return p.n == kFussy; })
    .pays([](const Problem& p) { return p.co > 1; })
    .rank(-1);

const VariantCandidate& candidate_of(const std::vector<VariantCandidate>& all,
                                     std::string_view name) {
  return *std::find_if(all.begin(), all.end(), [&](const auto& c) { return c.name == name; });
}

TEST(Variant, WhatIsChosenIsExplained) {
  auto o = random_operands({kFussy, 1, 2, 1, 1, 1, 0});
  o.product = Product::kForward;
  const auto all = explain(Dense{}, o);
  ASSERT_EQ(all.size(), Registry<Variant<Dense>>::instance().entries().size());
  EXPECT_EQ(all.front().name, "fussy") << "in the order of their ranks";
  EXPECT_EQ(all.back().name, kReference) << "the definition last";
  EXPECT_TRUE(all.back().is_definition);

  const VariantCandidate fussy = candidate_of(all, "fussy"), ones = candidate_of(all, "ones");
  EXPECT_TRUE(fussy.fits() && fussy.has_rule);
  EXPECT_FALSE(fussy.pays || fussy.chosen);
  EXPECT_TRUE(ones.fits() && ones.pays && ones.chosen);
  EXPECT_FALSE(ones.has_rule);
  EXPECT_EQ(candidate_of(all, "packed").limit, Limit::kProduct);
  EXPECT_EQ(std::count_if(all.begin(), all.end(), [](const auto& c) { return c.chosen; }), 1);
}

TEST(Variant, WhatKeepsOneFromAProblemIsNamed) {
  auto o = random_operands({kOdd, 1, 2, 1, 1, 1, 0});
  o.product = Product::kWeightGradient;
  EXPECT_EQ(candidate_of(explain(Dense{}, o), "ones").limit, Limit::kProduct);
  o.product = Product::kForward;
  auto precise = o;
  precise.x = o.x.to(at::kDouble), precise.w = o.w.to(at::kDouble);
  EXPECT_EQ(candidate_of(explain(Dense{}, precise), "ones").limit, Limit::kPrecision);
  auto smaller = random_operands({3, 1, 2, 1, 1, 1, 0});
  smaller.product = Product::kForward;
  EXPECT_EQ(candidate_of(explain(Dense{}, smaller), "ones").limit, Limit::kShape);
}

// What a rule decides by is the density that the plan really has.
TEST(Variant, TheExplanationIsWhatRunDoes) {
  auto o = random_operands({4, 32, 8, 32, 3, 1, 1});
  o.product = Product::kDataGradient;
  const auto chosen = [&](const at::Tensor& dy) {
    const PrunedDY plan{dy, dy.count_nonzero()};
    std::string name;
    for (const auto& candidate : explain(plan, o)) {
      if (candidate.chosen) name = candidate.name;
    }
    EXPECT_TRUE(at::equal(run(plan, o), run(plan, o, name))) << name;
    return name;
  };
  auto nearly_nothing = at::zeros_like(o.dy);
  nearly_nothing[0][0][0][0] = 1;
  EXPECT_NE(chosen(o.dy), chosen(nearly_nothing));
}

TEST(VariantCounts, WhatIsMoreThanFitsIsCountedTogether) {
  const std::vector<std::string> names = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  VariantCounts counts;
  for (int round = 0; round < 2; ++round) {
    for (const auto& name : names) counts.add("Dense", name);
  }
  counts.add("Skip", "a");  // another plan's
  int64_t calls = 0;
  for (const auto& entry : counts.entries()) calls += entry.calls;
  EXPECT_EQ(calls, 21);
  EXPECT_EQ(counts.entries().front().calls, 2);
  EXPECT_EQ(counts.entries().back().variant, "others");
  EXPECT_EQ(counts.entries().back().calls, 21 - 2 * 7);
}

TEST(Variant, APlanThatTheProductDoesNotHaveHasNoneChosen) {
  auto o = random_operands({2, 3, 5, 7, 3, 1, 1});
  o.product = Product::kForward;
  for (const auto& candidate : explain(Skip{}, o)) {
    EXPECT_FALSE(candidate.chosen || candidate.fits()) << candidate.name;
  }
  EXPECT_EQ(plan_name(Skip{}), "Skip");
}

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

#ifdef ADDED_CUDA_KERNELS
// Where there is no GPU the library is found and opened nevertheless: nothing is launched.
TEST(Variant, TheKernelsForAGpuAreThoseOfItsLibrary) {
  const auto chosen = [](ElementType element) {
    const Problem problem{.product = Product::kWeightGradient,
                          .geometry = {},
                          .device = Hardware::kCuda,
                          .element = element,
                          .density = 0.001};
    return choose<SparseDY>(problem)->name;
  };
  EXPECT_EQ(chosen(ElementType::kFloat), "densify");
  EXPECT_EQ(launch_of<PeakArgs<float>>(), nullptr);
  EXPECT_TRUE(open_cuda_kernels());
  // What nobody but tests launches has one place in this program and in that library.
  EXPECT_NE(launch_of<SparseTilesArgs<BFloat16>>(), nullptr);
  EXPECT_NE(launch_of<DenseTilesArgs<Float16>>(), nullptr);
  EXPECT_NE(launch_of<LoadedMatricesArgs>(), nullptr);
  EXPECT_EQ(chosen(ElementType::kFloat), "entries_cuda");
  EXPECT_EQ(chosen(ElementType::kBFloat16), "entries_cuda_bf16");
  EXPECT_EQ(chosen(ElementType::kHalf), "entries_cuda_fp16");
  // Of a pruned dY nothing is taken but by a table that says where.
  const auto of_pruned = [](Product product, ElementType element, double density) {
    const Problem problem{.product = product,
                          .geometry = {},
                          .n = 2,
                          .ci = 8,
                          .h = 3,
                          .w = 3,
                          .co = 8,
                          .ho = 3,
                          .wo = 3,
                          .device = Hardware::kCuda,
                          .element = element,
                          .density = density};
    return choose<PrunedDY>(problem)->name;
  };
  EXPECT_EQ(of_pruned(Product::kDataGradient, ElementType::kFloat, 0), "exact");
  EXPECT_EQ(of_pruned(Product::kWeightGradient, ElementType::kHalf, 0), "exact");
  use_kernel_rules(
      "sparse_rows_cuda * * * * * * ..0.1\n"
      "block_rows_cuda * * * * * * ..0.2\n"
      "block_lists_cuda_bf16 * * * * * * ..0.2\n"
      "sparse_lists_cuda_fp16 * * * * * * ..0.1\n");
  EXPECT_EQ(of_pruned(Product::kDataGradient, ElementType::kFloat, 0.1), "sparse_rows_cuda");
  EXPECT_EQ(of_pruned(Product::kDataGradient, ElementType::kFloat, 0.2), "block_rows_cuda");
  EXPECT_EQ(of_pruned(Product::kDataGradient, ElementType::kFloat, 0.3), "exact");
  EXPECT_EQ(of_pruned(Product::kDataGradient, ElementType::kHalf, 0.1), "exact");
  EXPECT_EQ(of_pruned(Product::kWeightGradient, ElementType::kBFloat16, 0.1),
            "block_lists_cuda_bf16");
  EXPECT_EQ(of_pruned(Product::kWeightGradient, ElementType::kHalf, 0.1), "sparse_lists_cuda_fp16");
  use_kernel_rules("");
  EXPECT_NE(launch_of<PeakArgs<Float16>>(), nullptr);
  EXPECT_NE(launch_of<StochasticOnGpu<BFloat16>>(), nullptr);
  EXPECT_NE(launch_of<NmOnGpu<Float16>>(), nullptr);
  EXPECT_NE(launch_of<MeanMagnitudeArgs<float>>(), nullptr);
  EXPECT_NE(launch_of<UniformArgs>(), nullptr);
  EXPECT_NE(launch_of<MoveChannels<float>>(), nullptr);
  EXPECT_NE(launch_of<MoveChannels<BFloat16>>(), nullptr);
  EXPECT_NE(launch_of<MoveChannels<Float16>>(), nullptr);
  EXPECT_NE(launch_of<NormsOnGpu<float>>(), nullptr);
  EXPECT_NE(launch_of<NormsOnGpu<Float16>>(), nullptr);
  EXPECT_NE(launch_of<NormStatisticsOnGpu<Float16>>(), nullptr);
  EXPECT_NE(launch_of<NormApplyOnGpu<float>>(), nullptr);
  EXPECT_NE(launch_of<NormSumsOnGpu<BFloat16>>(), nullptr);
  EXPECT_NE(launch_of<NormGradientOnGpu<float>>(), nullptr);
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
