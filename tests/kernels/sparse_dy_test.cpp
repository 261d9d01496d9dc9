#include <ATen/Parallel.h>

#include "tests/kernels/plan_contract.h"

namespace approx {
namespace {

// A plan with 0 to 3 entries in a row, positions repeated now and then.
SparseDY random_plan(const Operands& o, uint64_t seed) {
  const int64_t rows = o.dy.size(0) * o.dy.size(1), plane = o.dy.size(2) * o.dy.size(3);
  std::vector<int64_t> start = {0};
  std::vector<int32_t> position;
  for (int64_t row = 0; row < rows; ++row) {
    const auto words = Rng{.seed = seed}.block(static_cast<uint32_t>(row));
    const auto entries = std::min<int64_t>(words[0] % 4, plane);
    for (int64_t e = 0; e < entries; ++e) {
      // Distinct inside a row: entries are positions of a tensor.
      position.push_back(static_cast<int32_t>((words[1] + e) % plane));
    }
    start.push_back(static_cast<int64_t>(position.size()));
  }
  at::manual_seed(seed);
  return {at::tensor(start, at::kLong), at::tensor(position, at::kInt),
          at::randn({static_cast<int64_t>(position.size())})};
}

// The definition in plain loops over the operands as tensors, in double precision.
at::Tensor definition(const SparseDY& plan, const Operands& o) {
  const auto stride = o.geometry.stride.h, padding = o.geometry.padding.h,
             dilation = o.geometry.dilation.h;
  const auto x = at::constant_pad_nd(o.x.to(at::kDouble), {padding, padding, padding, padding});
  auto dw = at::zeros(o.w.sizes(), at::kDouble);
  const int64_t reach = dilation * (o.w.size(2) - 1) + 1, co = o.dy.size(1), wo = o.dy.size(3);
  const auto start = plan.row_start.accessor<int64_t, 1>();
  for (int64_t row = 0; row < o.dy.size(0) * co; ++row) {
    for (int64_t e = start[row]; e < start[row + 1]; ++e) {
      const auto p = plan.position[e].item<int64_t>();
      const int64_t top = p / wo * stride, left = p % wo * stride;
      dw[row % co] +=
          x[row / co].slice(1, top, top + reach, dilation).slice(2, left, left + reach, dilation) *
          plan.value[e].item<double>();
    }
  }
  return dw;
}

TEST(SparseDY, EveryVariantMatchesTheDefinition) {
  for (const auto& shape : conv_shapes()) {
    if (shape.groups > 1) continue;
    SCOPED_TRACE(shape);
    const auto operands = random_operands(shape);
    const auto plan = random_plan(operands, 3);
    const auto truth = definition(plan, operands);
    const auto names = variants(plan, operands);
    EXPECT_EQ(names, (std::vector<std::string>{"lists", "simd", "densify", "reference"}));
    for (const auto& variant : names) {
      SCOPED_TRACE(variant);
      EXPECT_CLOSE(run(plan, operands, variant), truth);
    }
  }
}

TEST(SparseDY, DilationReadsTheRightPixels) {
  auto operands = random_operands({2, 9, 9, 5, 3, 1, 1});
  operands.geometry.padding = operands.geometry.dilation = 2;  // the same output size
  const auto plan = random_plan(operands, 5);
  EXPECT_CLOSE(run(plan, operands, "lists"), definition(plan, operands));
  EXPECT_CLOSE(run(plan, operands, "simd"), definition(plan, operands));
  EXPECT_CLOSE(run(plan, operands, "densify"), definition(plan, operands));
}

TEST(SparseDY, GroupsFallBackToTheExactProductOfTheSparseGradient) {
  const auto operands = random_operands({2, 8, 6, 12, 3, 1, 1, 4});
  const auto plan = random_plan(operands, 3);
  EXPECT_EQ(variants(plan, operands), (std::vector<std::string>{"densify", "reference"}));
  EXPECT_THROW(run(plan, operands, "simd"), Error);
  Operands sparse = operands;
  sparse.dy = plan.densified(operands.dy);
  EXPECT_CLOSE(run(plan, operands), double_product(sparse));
}

TEST(SparseDY, ServesTheDataGradientToo) {
  auto operands = random_operands({3, 9, 8, 17, 3, 2, 1});
  const auto plan = random_plan(operands, 3);
  Operands sparse = operands;
  sparse.dy = plan.densified(operands.dy);
  operands.product = sparse.product = Product::kDataGradient;
  EXPECT_CLOSE(run(plan, operands), double_product(sparse));
  operands.x = at::Tensor();  // only its sizes are needed
  EXPECT_CLOSE(run(plan, operands), double_product(sparse));
}

TEST(SparseDY, LayoutAndPrecisionOfTheOperandsDoNotMatter) {
  const auto operands = random_operands({2, 16, 7, 15, 5, 1, 2});
  const auto plan = random_plan(operands, 8);
  Operands first = operands;
  for (auto* tensor : {&first.x, &first.w, &first.dy}) *tensor = tensor->contiguous();
  EXPECT_CLOSE(run(plan, first), run(plan, operands));
  Operands half = operands;
  for (auto* tensor : {&half.x, &half.w, &half.dy}) *tensor = tensor->to(at::kBFloat16);
  const auto result = run(plan, half);
  EXPECT_EQ(result.scalar_type(), at::kBFloat16);
  EXPECT_TRUE(close(result, run(plan, operands), 2e-2));
}

TEST(SparseDY, AnyNumberOfThreadsGivesTheSameBits) {
  const auto operands = random_operands({3, 9, 8, 17, 3, 2, 1});
  const auto plan = random_plan(operands, 3);
  const int threads = at::get_num_threads();
  for (const auto* variant : {"lists", "simd"}) {
    at::set_num_threads(1);
    const auto one = run(plan, operands, variant);
    at::set_num_threads(2);
    EXPECT_TRUE(at::equal(one, run(plan, operands, variant))) << variant;
  }
  at::set_num_threads(threads);
}

// Few pixels of a large map, in tiles of rows: an entry belongs to the one that its row is in.
TEST(SparseDY, EntriesOfAnyTileOfALargeMapCount) {
  const auto operands = random_operands({2, 40, 61, 17, 3, 1, 1});
  const auto plan = random_plan(operands, 11);
  const auto truth = definition(plan, operands);
  for (const auto* variant : {"lists", "simd"}) {
    EXPECT_CLOSE(run(plan, operands, variant), truth) << variant;
  }
}

TEST(SparseDY, EveryVariantAgreesWithTheDefinition) {
  for (auto& o : uneven_operands(20, 101)) {
    const auto plan = random_plan(o, 7);
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      o.product = product;
      expect_variants_agree(plan, o);
    }
  }
}

}  // namespace
}  // namespace approx
