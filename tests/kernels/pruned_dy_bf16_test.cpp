// The gradients of a pruned dY by pairs of entries, on processors that multiply pairs of bfloat16.
#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/select/select.h"
#include "tests/kernels/plan_contract.h"
#include "tests/reference.h"

namespace approx {
namespace {

constexpr const char *kRows = "pair_rows_bf16", *kLists = "pair_lists_bf16";

// In bfloat16, channels last; dY with a share of its entries.
struct SparseProduct {
  SparseProduct(const TestShape& shape, Product product, double density)
      : operands(random_operands(shape)) {
    operands.product = product;
    for (auto* tensor : {&operands.x, &operands.w, &operands.dy}) {
      *tensor = tensor->to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
    }
    keep(at::rand(operands.dy.sizes()) < density);
  }
  void keep(const at::Tensor& mask) {
    plan = counted(at::where(mask, operands.dy, at::zeros_like(operands.dy))
                       .contiguous(at::MemoryFormat::ChannelsLast));
  }
  bool fits(const std::string& variant) const {
    const auto names = variants(plan, operands);
    return std::find(names.begin(), names.end(), variant) != names.end();
  }

  Operands operands;
  PrunedDY plan;
};

// That `result` is `truth` rounded: what vdpbf16ps adds up in float has errors far below.
void expect_rounded(const at::Tensor& result, const at::Tensor& truth) {
  ASSERT_EQ(result.scalar_type(), at::kBFloat16);
  const auto error = (result.to(at::kDouble) - truth).abs();
  const auto allowed = truth.abs() / 256 + 1e-5 * truth.abs().max();
  EXPECT_TRUE((error <= allowed).all().item<bool>()) << (error / allowed).max();
}

at::Tensor by_definition(const SparseProduct& of) {
  auto replaced = of.operands;
  for (auto* tensor : {&replaced.x, &replaced.w}) *tensor = tensor->to(at::kDouble);
  replaced.dy = of.plan.dy.to(at::kDouble);
  return reference::product(replaced).tensor();
}

void expect_pairs(const TestShape& shape, Product product, const std::string& variant) {
  SCOPED_TRACE(shape);
  for (const double density : {0.0, 0.05, 0.5, 1.0}) {
    const SparseProduct of(shape, product, density);
    expect_rounded(run(of.plan, of.operands, variant), by_definition(of));
  }
}

bool machine_has_pairs() {
  return SparseProduct({2, 32, 4, 8, 3, 1, 1}, Product::kDataGradient, 0.5).fits(kRows);
}

#define PAIRS_OR_SKIP \
  if (!machine_has_pairs()) GTEST_SKIP() << "this processor does not multiply pairs of bfloat16"

TEST(PrunedDYInBf16, RowsAgreeWithPlainLoops) {
  PAIRS_OR_SKIP;
  // Blocks of four, two and one vectors of input channels; output channels that fill no vector and
  // more than one block; several images together, with a rest; kernels of several widths; strides
  // that leave pixels out; maps of one pixel and one column; padding up to the kernel.
  at::manual_seed(31);
  for (const auto& shape : {TestShape{3, 32, 9, 5, 3, 1, 1}, TestShape{2, 96, 7, 37, 3, 1, 1},
                            TestShape{300, 224, 2, 130, 3, 1, 1}, TestShape{2, 64, 6, 200, 5, 1, 2},
                            TestShape{2, 224, 6, 9, 1, 1, 0}, TestShape{2, 32, 8, 9, 3, 1, 0},
                            TestShape{2, 32, 8, 9, 3, 1, 2}, TestShape{1, 64, 1, 3, 3, 1, 1},
                            TestShape{2, 64, 8, 9, 3, 2, 1}, TestShape{3, 96, 7, 20, 3, 2, 0},
                            TestShape{2, 64, 9, 5, 1, 2, 0}, TestShape{2, 32, 11, 7, 5, 2, 2}}) {
    expect_pairs(shape, Product::kDataGradient, kRows);
  }
}

TEST(PrunedDYInBf16, EveryVariantAgreesOnUnevenShapes) {
  for (auto& o : uneven_operands(20, 74, /*grouped=*/false)) {
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      SparseProduct of({1, 32, 4, 4, 1, 1, 0}, product, 0.4);
      o.product = product;
      of.operands = o;
      for (auto* tensor : {&of.operands.x, &of.operands.w, &of.operands.dy}) {
        *tensor = tensor->repeat({1, tensor == &of.operands.dy ? 1 : 32, 1, 1})
                      .to(at::kBFloat16)
                      .contiguous(at::MemoryFormat::ChannelsLast);
      }
      of.operands.input_sizes = of.operands.x.sizes().vec();
      of.keep(at::rand(of.operands.dy.sizes()) < 0.4);
      for (const auto& variant : variants(of.plan, of.operands)) {
        SCOPED_TRACE(variant);
        if (variant.starts_with("pair_")) {
          expect_rounded(run(of.plan, of.operands, variant), by_definition(of));
        }
      }
    }
  }
}

TEST(PrunedDYInBf16, ListsAgreeWithPlainLoops) {
  PAIRS_OR_SKIP;
  // All windows of taps; output channels that fill no vector; tiles of some rows and of several
  // images, with a rest; strides, and padding up to the whole map.
  at::manual_seed(32);
  for (const auto& shape :
       {TestShape{3, 32, 9, 5, 3, 1, 1}, TestShape{2, 96, 40, 9, 3, 1, 1},
        TestShape{37, 224, 4, 33, 3, 1, 1}, TestShape{2, 64, 6, 20, 5, 1, 2},
        TestShape{2, 32, 6, 3, 5, 2, 1}, TestShape{2, 32, 9, 4, 7, 2, 3},
        TestShape{2, 128, 6, 9, 1, 1, 0}, TestShape{2, 64, 6, 9, 1, 2, 0},
        TestShape{2, 32, 5, 4, 2, 1, 1}, TestShape{1, 32, 1, 3, 3, 1, 1},
        TestShape{5, 32, 9, 130, 3, 3, 1}, TestShape{37, 32, 4, 161, 5, 2, 2}}) {
    expect_pairs(shape, Product::kWeightGradient, kLists);
  }
}

TEST(PrunedDYInBf16, ListsOfSixteenChannelsAgreeWithPlainLoops) {
  PAIRS_OR_SKIP;
  // Pixels with their right neighbours: rows of one and two pixels, rows that a stride cuts, no
  // padding and more than the kernel reaches, tiles of some rows and of several images.
  at::manual_seed(34);
  for (const auto& shape : {TestShape{3, 16, 9, 5, 3, 1, 1}, TestShape{3, 16, 40, 16, 3, 1, 1},
                            TestShape{37, 16, 4, 33, 3, 1, 1}, TestShape{2, 16, 8, 20, 3, 2, 1},
                            TestShape{2, 16, 7, 3, 3, 2, 0}, TestShape{2, 16, 5, 4, 3, 1, 0},
                            TestShape{2, 16, 5, 4, 3, 3, 2}, TestShape{2, 16, 1, 4, 3, 1, 1},
                            TestShape{2, 16, 2, 4, 3, 1, 3}, TestShape{2, 16, 2, 4, 3, 2, 4}}) {
    expect_pairs(shape, Product::kWeightGradient, kLists);
  }
}

// The neighbour of a pixel is multiplied with it, and must not come into other taps.
TEST(PrunedDYInBf16, ANeighbourThatIsNoNumberStaysInItsTaps) {
  PAIRS_OR_SKIP;
  SparseProduct product({1, 16, 6, 2, 3, 1, 1}, Product::kWeightGradient, 0);
  auto dy = product.plan.dy.clone(at::MemoryFormat::ChannelsLast);
  dy.select(3, 2).fill_(1);
  product.plan = counted(dy);
  product.operands.x.select(3, 4).fill_(std::numeric_limits<float>::infinity());
  EXPECT_TRUE(run(product.plan, product.operands, kLists).isfinite().all().item<bool>());
  product.operands.x.select(3, 3).fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_EQ(run(product.plan, product.operands, kLists).isnan().sum().item<int64_t>(), 2 * 16 * 3);
}

// An entry alone in its pixel goes with a zero, which weights that are not finite must not see.
TEST(PrunedDYInBf16, AnOddEntryGoesWithNoOthersWeights) {
  PAIRS_OR_SKIP;
  SparseProduct product({2, 64, 5, 40, 3, 1, 1}, Product::kDataGradient, 1);
  auto mask = at::zeros_like(product.operands.dy, at::kBool);
  mask.select(1, 7).fill_(true);
  product.keep(mask);
  product.operands.w.select(0, 0).fill_(std::numeric_limits<float>::infinity());
  product.operands.w.select(0, 39).fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_TRUE(run(product.plan, product.operands, kRows).isfinite().all().item<bool>());
}

TEST(PrunedDYInBf16, WhatIsNoNumberStays) {
  PAIRS_OR_SKIP;
  for (const int64_t channels : {8, 40, 130}) {
    SparseProduct product({1, 32, 5, channels, 3, 1, 1}, Product::kDataGradient, 0);
    auto dy = product.plan.dy.clone(at::MemoryFormat::ChannelsLast);
    dy.select(1, 3).select(1, 2).select(1, 1).fill_(std::numeric_limits<float>::quiet_NaN());
    product.plan = counted(dy);
    EXPECT_EQ(run(product.plan, product.operands, kRows).isnan().sum().item<int64_t>(), 32 * 9)
        << channels;
    product.operands.product = Product::kWeightGradient;
    EXPECT_EQ(run(product.plan, product.operands, kLists).isnan().sum().item<int64_t>(), 32 * 9)
        << channels;
  }
}

TEST(PrunedDYInBf16, BitsDoNotDependOnTheNumberOfThreads) {
  PAIRS_OR_SKIP;
  const int before = at::get_num_threads();
  for (const auto& [kind, variant, channels] : {std::tuple{Product::kDataGradient, kRows, 96},
                                                {Product::kWeightGradient, kLists, 96},
                                                {Product::kWeightGradient, kLists, 16}}) {
    const SparseProduct product({40, channels, 6, 140, 3, 1, 1}, kind, 0.3);
    const auto several = run(product.plan, product.operands, variant);
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(at::equal(run(product.plan, product.operands, variant), several)) << variant;
    }
    at::set_num_threads(before);
  }
}

TEST(PrunedDYInBf16, PairsAreTakenWhereLittleIsKept) {
  PAIRS_OR_SKIP;
  const auto taken = [](Product kind, int64_t channels, double density) {
    const SparseProduct product({4, channels, 8, 64, 3, 1, 1}, kind, density);
    for (const auto& candidate : explain(product.plan, product.operands)) {
      if (candidate.chosen) return candidate.name;
    }
    return std::string();
  };
  for (const auto& [kind, variant] :
       {std::pair{Product::kDataGradient, kRows}, std::pair{Product::kWeightGradient, kLists}}) {
    EXPECT_EQ(taken(kind, 64, 0.3), variant);
    EXPECT_EQ(taken(kind, 64, 0.9), "exact");
    EXPECT_EQ(taken(kind, 8, 0.1), "exact") << "no half of a vector of input channels";
  }
}

}  // namespace
}  // namespace approx
