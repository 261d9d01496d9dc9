// The exact products in bfloat16 on a CPU.
#include <ATen/Parallel.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>

#include "kernels/dense/forward.h"
#include "tests/kernels/plan_contract.h"
#include "tests/reference.h"

namespace approx {
namespace {

Operands as_bf16(Operands o) {
  for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->to(at::kBFloat16);
  return o;
}

Operands bf16_operands(const TestShape& shape) {
  auto o = as_bf16(random_operands(shape));
  for (auto* tensor : {&o.x, &o.w, &o.dy}) {
    *tensor = tensor->contiguous(at::MemoryFormat::ChannelsLast);
  }
  return o;
}

// That it is summed in float and rounded once: the error of rounding, and of sums in float.
void expect_rounded_once(const at::Tensor& result, const at::Tensor& truth) {
  ASSERT_EQ(result.scalar_type(), at::kBFloat16);
  ASSERT_EQ(result.sizes(), truth.sizes());
  const auto error = (result.to(at::kDouble) - truth).abs();
  const auto allowed = truth.abs() / 256 + 1e-5 * truth.abs().max();
  EXPECT_TRUE((error <= allowed).all().item<bool>()) << (error / allowed).max();
}

at::Tensor truth_of(const Operands& o) { return defined_result(Dense{}, o); }

bool is_taken_by(const Operands& o, const std::string& variant) {
  const auto candidates = explain(Dense{}, o);
  return std::any_of(candidates.begin(), candidates.end(), [&](const auto& candidate) {
    return candidate.chosen && candidate.name == variant;
  });
}

bool takes(const Operands& o, const std::string& variant) {
  const auto names = variants(Dense{}, o);
  return std::find(names.begin(), names.end(), variant) != names.end();
}

TEST(DenseInBf16, EveryVariantAgreesOnUnevenShapes) {
  int taps = 0;
  for (auto& floats : uneven_operands(60, 77)) {
    auto o = as_bf16(floats);
    for (const auto product : kAllProducts) {
      o.product = product;
      SCOPED_TRACE(::testing::Message() << name(product) << " x " << o.x.sizes() << " w "
                                        << o.w.sizes() << " groups " << o.geometry.groups);
      const auto truth = truth_of(o);
      for (const auto& variant : variants(Dense{}, o)) {
        SCOPED_TRACE(variant);
        expect_rounded_once(run(Dense{}, o, variant), truth);
        taps += variant == "weight_taps" ? 1 : 0;
      }
      expect_rounded_once(run(Dense{}, o), truth);
    }
    const auto [dx, dw] = dense_gradients(o, true, true);
    o.product = Product::kDataGradient;
    expect_rounded_once(dx, truth_of(o));
    o.product = Product::kWeightGradient;
    expect_rounded_once(dw, truth_of(o));
  }
  EXPECT_GT(taps, 0);
}

TEST(DenseInBf16, OurProductsAreTakenWhereTheyPayAndRoundOnce) {
  const auto expect_taken = [](const TestShape& shape, Product product,
                               const std::string& variant) {
    SCOPED_TRACE(::testing::Message() << shape << name(product));
    auto o = bf16_operands(shape);
    o.product = product;
    EXPECT_TRUE(is_taken_by(o, variant));
    EXPECT_EQ(dense_pays(o.x, o.w, o.geometry), variant != "libtorch");
    if (variant != "libtorch") expect_rounded_once(run(Dense{}, o), truth_of(o));
  };
  expect_taken({3, 256, 4, 256, 3, 1, 1}, Product::kWeightGradient, "weight_taps");
  expect_taken({3, 128, 8, 512, 3, 2, 1}, Product::kWeightGradient, "weight_taps");
  expect_taken({2, 512, 7, 512, 3, 1, 1}, Product::kWeightGradient, "weight_taps");
  expect_taken({64, 256, 2, 256, 3, 1, 1}, Product::kForward, "whole_map");
  expect_taken({64, 256, 2, 256, 3, 1, 1}, Product::kDataGradient, "whole_map");
  expect_taken({2, 256, 1, 256, 3, 1, 1}, Product::kDataGradient, "whole_map");
  expect_taken({5, 128, 2, 130, 1, 1, 0}, Product::kForward, "matrix");
  expect_taken({5, 256, 4, 256, 1, 1, 0}, Product::kWeightGradient, "matrix");
  // Few channels, larger maps.
  for (const auto product : kAllProducts) {
    expect_taken({3, 64, 4, 64, 3, 1, 1}, product, "libtorch");
    expect_taken({3, 128, 8, 128, 3, 1, 1}, product, "libtorch");
    expect_taken({3, 64, 8, 64, 1, 1, 0}, product, "libtorch");
  }
}

TEST(DenseInBf16, ProductsTakeOperandsInAnyLayout) {
  for (const bool channels_last : {true, false}) {
    for (const auto& [shape, variant] :
         {std::pair<TestShape, std::string>{{3, 17, 5, 33, 3, 2, 1}, "weight_taps"},
          {{3, 17, 2, 33, 3, 1, 1}, "whole_map"},
          {{3, 5, 1, 7, 3, 1, 1}, "whole_map"},
          {{2, 5, 3, 7, 5, 1, 2}, "whole_map"}}) {
      SCOPED_TRACE(shape);
      auto o = as_bf16(random_operands(shape));
      const auto format =
          channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
      for (auto* tensor : {&o.x, &o.w, &o.dy}) *tensor = tensor->contiguous(format);
      for (const auto product : kAllProducts) {
        o.product = product;
        if (!takes(o, variant)) continue;
        const auto result = run(Dense{}, o, variant);
        expect_rounded_once(result, truth_of(o));
        EXPECT_TRUE(result.is_contiguous(at::MemoryFormat::ChannelsLast));
      }
    }
  }
}

TEST(DenseInBf16, WholeMapsMayBeUneven) {
  struct Case {
    Spatial map, kernel, stride, padding;
  };
  for (const auto& c : {Case{{2, 3}, {3, 5}, 1, {1, 2}}, Case{{1, 2}, {2, 3}, 1, {1, 1}},
                        Case{{3, 4}, {3, 4}, {2, 3}, 0}, Case{{2, 1}, {4, 3}, {2, 1}, {2, 1}},
                        Case{{2, 2}, {5, 5}, {2, 1}, {2, 3}}}) {
    const auto drawn = [](at::IntArrayRef sizes) { return at::randn(sizes).to(at::kBFloat16); };
    const Geometry g{.stride = c.stride, .padding = c.padding};
    Operands o{.x = drawn({3, 7, c.map.h, c.map.w}),
               .w = drawn({5, 7, c.kernel.h, c.kernel.w}),
               .dy = {},
               .geometry = g};
    o.input_sizes = o.x.sizes().vec();
    const Problem p = problem_of(Product::kForward, o.input_sizes, o.w, g);
    o.dy = drawn({3, 5, p.ho, p.wo});
    for (const auto product : {Product::kForward, Product::kDataGradient}) {
      o.product = product;
      SCOPED_TRACE(::testing::Message() << o.x.sizes() << o.w.sizes() << name(product));
      ASSERT_TRUE(takes(o, "whole_map"));
      expect_rounded_once(run(Dense{}, o, "whole_map"), truth_of(o));
    }
  }
}

TEST(DenseInBf16, AMapIsNoMatrixWhereAPixelIsNotSeen) {
  for (const auto& shape : {TestShape{2, 4, 3, 4, 3, 1, 1}, TestShape{2, 4, 2, 4, 3, 1, 2},
                            TestShape{2, 4, 2, 4, 1, 1, 0}, TestShape{2, 4, 2, 4, 3, 1, 1, 2}}) {
    SCOPED_TRACE(shape);
    auto o = as_bf16(random_operands(shape));
    o.product = Product::kForward;
    EXPECT_FALSE(takes(o, "whole_map"));
    EXPECT_THROW(run(Dense{}, o, "whole_map"), Error);
  }
}

TEST(DenseInBf16, BitsDoNotDependOnTheNumberOfThreads) {
  const int before = at::get_num_threads();
  for (const auto& [shape, product, variant] :
       {std::tuple<TestShape, Product, std::string>{
            {64, 256, 4, 256, 3, 1, 1}, Product::kWeightGradient, "weight_taps"},
        {{64, 130, 8, 70, 3, 2, 1}, Product::kWeightGradient, "weight_taps"},
        {{64, 256, 2, 256, 3, 1, 1}, Product::kForward, "whole_map"},
        {{64, 256, 2, 256, 3, 1, 1}, Product::kDataGradient, "whole_map"},
        {{64, 512, 4, 256, 1, 1, 0}, Product::kWeightGradient, "matrix"}}) {
    auto o = bf16_operands(shape);
    o.product = product;
    const auto several = run(Dense{}, o, variant);
    for (const int threads : {1, 2, 3}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(at::equal(run(Dense{}, o, variant), several)) << variant << " " << threads;
    }
    at::set_num_threads(before);
  }
}

TEST(DenseInBf16, WhatIsNoNumberStaysWhereItIsMultiplied) {
  const auto nan = std::numeric_limits<float>::quiet_NaN();
  const auto infinity = std::numeric_limits<float>::infinity();
  // A corner of dY meets four taps of x's map of 3x3.
  auto o = bf16_operands({2, 6, 3, 5, 3, 1, 1});
  o.dy[1][4][0][0] = nan;
  o.dy[1][3][0][0] = infinity;
  o.product = Product::kWeightGradient;
  const auto dw = run(Dense{}, o, "weight_taps");
  EXPECT_EQ(dw.isnan().sum().item<int64_t>(), 4 * 6);
  EXPECT_EQ(dw.isinf().sum().item<int64_t>(), 4 * 6);
  EXPECT_EQ(dw.select(0, 4).isnan().sum().item<int64_t>(), 4 * 6);
  // A pixel of a map of 2x2 meets all others of its image.
  o = bf16_operands({2, 6, 2, 5, 3, 1, 1});
  o.x[1][2][0][1] = infinity;
  o.dy[1][4][0][1] = nan;
  o.product = Product::kForward;
  const auto y = run(Dense{}, o, "whole_map");
  EXPECT_EQ(y.isinf().sum().item<int64_t>(), 5 * 4);
  EXPECT_EQ(y.select(0, 1).isinf().sum().item<int64_t>(), 5 * 4);
  o.product = Product::kDataGradient;
  EXPECT_EQ(run(Dense{}, o, "whole_map").select(0, 1).isnan().sum().item<int64_t>(), 6 * 4);
}

// oneDNN's own read and write past their operands there: the forward product may crash, and the
// weight gradient holds numbers that nobody wrote. Several times, since it depends on what memory
// held before.
TEST(DenseInBf16, RowsShorterThanTheStrideAreRight) {
  for (const int64_t channels : {3, 16, 32}) {
    for (const int64_t kernel : {1, 2, 3, 5}) {
      for (const int64_t stride : {2, 3, 4}) {
        for (int64_t columns = 1; columns < stride; ++columns) {
          for (const int64_t groups : {1, channels % 2 == 0 ? 2 : 1}) {
            const int64_t padding = std::max<int64_t>(1, kernel / 2);
            const Geometry g{
                .stride = {1 + stride % 2, stride}, .padding = padding, .groups = groups};
            if (columns + 2 * padding < kernel) continue;
            const auto drawn = [&](at::IntArrayRef sizes) {
              return at::randn(sizes).to(at::kBFloat16).contiguous(at::MemoryFormat::ChannelsLast);
            };
            Operands o{.x = drawn({3, channels, 6, columns}),
                       .w = drawn({channels, channels / groups, kernel, kernel}),
                       .dy = {},
                       .geometry = g};
            o.input_sizes = o.x.sizes().vec();
            const Problem p = problem_of(Product::kForward, o.input_sizes, o.w, g);
            o.dy = drawn({3, channels, p.ho, p.wo});
            SCOPED_TRACE(::testing::Message() << o.x.sizes() << " kernel " << kernel << " stride "
                                              << stride << " groups " << groups);
            EXPECT_TRUE(dense_pays(o.x, o.w, g)) << "LibTorch's own node has them";
            const auto [dx, dw] = dense_gradients(o, true, true);
            for (const auto product : kAllProducts) {
              o.product = product;
              const auto truth = truth_of(o);
              expect_rounded_once(run(Dense{}, o, "libtorch"), truth);
              if (product == Product::kDataGradient) expect_rounded_once(dx, truth);
              if (product == Product::kWeightGradient) expect_rounded_once(dw, truth);
            }
          }
        }
      }
    }
  }
}

TEST(DenseInBf16, TheTypeOfAutocastDecides) {
  const auto o = random_operands({3, 256, 4, 256, 3, 1, 1});
  EXPECT_TRUE(dense_pays(o.x, o.w, o.geometry, false, at::kBFloat16));
  const auto few = random_operands({3, 64, 9, 16, 1, 1, 0});
  EXPECT_FALSE(dense_pays(few.x, few.w, few.geometry, false, at::kBFloat16));
  EXPECT_FALSE(dense_pays(o.x, o.w, o.geometry, false, at::kHalf));
}

TEST(DenseInBf16, ABiasIsAddedToWhatIsChosen) {
  for (const auto& shape : {TestShape{3, 8, 5, 6, 3, 1, 1}, TestShape{64, 256, 2, 256, 3, 1, 1},
                            TestShape{3, 8, 1, 6, 3, 2, 1}}) {
    SCOPED_TRACE(shape);
    auto o = bf16_operands(shape);
    o.product = Product::kForward;
    const auto bias = at::randn({shape.co}).to(at::kBFloat16);
    const auto truth = truth_of(o) + bias.to(at::kDouble).view({1, -1, 1, 1});
    LayerVariants counts;
    const auto y = dense_forward(o, bias, &counts);
    EXPECT_TRUE(close(y.to(at::kDouble), truth, 0.01));
    // LibTorch's own rounds once.
    if (is_taken_by(o, "libtorch") && shape.size > 1) expect_rounded_once(y, truth);
    EXPECT_TRUE(at::equal(dense_forward(o, {}, nullptr), run(Dense{}, o)));
  }
}

// A dY of which a share is not zero.
Operands bf16_with_zeros(const TestShape& shape, double share) {
  auto o = bf16_operands(shape);
  o.dy = (o.dy * at::rand_like(o.dy).lt(share)).contiguous(at::MemoryFormat::ChannelsLast);
  return o;
}

TEST(DenseInBf16, GradientsOfManyZerosAreComputedByTheirEntries) {
  auto first = bf16_with_zeros({3, 64, 9, 48, 3, 1, 1}, 0.1);
  first.product = Product::kDataGradient;
  if (!takes(first, "entries"))
    GTEST_SKIP() << "this processor does not multiply pairs of bfloat16";
  for (const double share : {0.0, 0.1, 0.25}) {
    for (const auto& shape : {TestShape{3, 64, 9, 48, 3, 1, 1}, TestShape{4, 64, 9, 64, 3, 2, 1}}) {
      SCOPED_TRACE(shape);
      auto o = bf16_with_zeros(shape, share);
      EXPECT_TRUE(dense_pays(o.x, o.w, o.geometry, /*dy_may_hold_zeros=*/true));
      const auto [dx, dw] = dense_gradients(o, true, true);
      for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
        o.product = product;
        EXPECT_TRUE(is_taken_by(o, "entries")) << name(product);
        EXPECT_TRUE(at::equal(product == Product::kDataGradient ? dx : dw, run(Dense{}, o)));
        expect_rounded_once(run(Dense{}, o), truth_of(o));
      }
    }
  }
  auto full = bf16_with_zeros({3, 64, 9, 48, 3, 1, 1}, 0.9);
  full.product = Product::kWeightGradient;
  EXPECT_FALSE(is_taken_by(full, "entries"));
}

TEST(DenseInBf16, ANaNAmongZerosIsAnEntry) {
  auto o = bf16_with_zeros({3, 64, 9, 48, 3, 1, 1}, 0.1);
  o.dy[1][5][4][4] = std::numeric_limits<float>::quiet_NaN();
  const auto [dx, dw] = dense_gradients(o, true, true);
  EXPECT_TRUE(dw[5].isnan().all().item<bool>());
  EXPECT_FALSE(dw[4].isnan().any().item<bool>());
  EXPECT_EQ(dx.isnan().any(1).sum().item<int64_t>(), 9);
}

}  // namespace
}  // namespace approx
