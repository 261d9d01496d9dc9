#include <ATen/Parallel.h>
#include <hwy/targets.h>

#include <algorithm>
#include <limits>

#include "kernels/dense/cudnn.h"
#include "kernels/probe/lanes.h"
#include "kernels/variant.h"
#include "tests/kernels/plan_contract.h"
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

TEST(Dense, TheDefinitionIsThatOfTheTests) {
  for (auto& o : uneven_operands(20, 42)) {
    for (const auto product : kAllProducts) {
      o.product = product;
      EXPECT_TRUE(close(defined_result(Dense{}, o), reference::product(o).tensor(), 1e-12))
          << name(product);
      expect_variants_agree(Dense{}, o);
    }
  }
}

TEST(Dense, TheDefinitionIsTakenByItsNameAlone) {
  auto o = random_operands({2, 3, 5, 7, 3, 1, 1});
  for (const auto product : kAllProducts) {
    o.product = product;
    EXPECT_EQ(variants(Dense{}, o).back(), kReference);
    EXPECT_TRUE(at::equal(run(Dense{}, o), run(Dense{}, o, "libtorch"))) << name(product);
  }
}

TEST(Dense, GradientsOfUnevenGeometryComeTogether) {
  for (auto& o : uneven_operands(20, 43)) {
    const auto [dx, dw] = dense_gradients(o, true, true);
    o.product = Product::kDataGradient;
    EXPECT_CLOSE(dx, defined_result(Dense{}, o));
    auto without_x = o;
    without_x.x = at::Tensor();
    EXPECT_CLOSE(dense_gradients(without_x, true, false).first, dx);
    o.product = Product::kWeightGradient;
    EXPECT_CLOSE(dw, defined_result(Dense{}, o));
  }
}

TEST(Dense, LinearLayersAreMatrixProducts) {
  // One example, one feature, one output; with a stride, which a single pixel does not notice.
  for (const auto& shape : {TestShape{5, 7, 1, 3, 1, 1, 0}, TestShape{1, 6, 1, 4, 1, 1, 0},
                            TestShape{3, 1, 1, 5, 1, 2, 0}, TestShape{4, 9, 1, 1, 1, 1, 0}}) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    ASSERT_TRUE(dense_pays(o.x, o.w, o.geometry));
    const auto both = dense_gradients(o, true, true);
    for (const auto product : kAllProducts) {
      o.product = product;
      EXPECT_CLOSE(run(Dense{}, o, "matrix"), reference::product(o).tensor()) << name(product);
      EXPECT_TRUE(at::equal(run(Dense{}, o), run(Dense{}, o, "matrix"))) << name(product);
    }
    o.product = Product::kDataGradient;
    EXPECT_TRUE(at::equal(both.first, run(Dense{}, o)));
    o.product = Product::kWeightGradient;
    EXPECT_TRUE(at::equal(both.second, run(Dense{}, o)));
    o.x = at::Tensor();  // a data gradient needs its sizes alone
    EXPECT_EQ(dense_gradients(o, true, false).first.sizes(), o.input_sizes);
  }
}

// No wider vectors than AVX2's while it lives: rules look at the width.
class NarrowVectors {
 public:
  NarrowVectors() {
#if HWY_ARCH_X86
    if ((hwy::SupportedTargets() & HWY_AVX2) != 0) hwy::SetSupportedTargetsForTest(HWY_AVX2);
#endif
  }
  ~NarrowVectors() { hwy::SetSupportedTargetsForTest(0); }
};

// LibTorch's own convolution leaves numbers unwritten there.
TEST(Dense, OneInputChannelUnderUnlikeStridesIsRight) {
  at::manual_seed(1);
  Operands o{.x = at::randn({4, 1, 8, 5}).as_strided({4, 1, 8, 5}, {40, 1, 5, 1}),
             .w = at::randn({32, 1, 5, 5}),
             .dy = {},
             .geometry = {.stride = {1, 2}},
             .product = Product::kForward};
  o.input_sizes = o.x.sizes().vec();
  for (int time = 0; time < 5; ++time) {
    const auto unwritten = at::full({4, 32, 4, 1}, 1e30);
    EXPECT_CLOSE(run(Dense{}, o),
                 at::conv2d(o.x.to(at::kDouble), o.w.to(at::kDouble), {}, {1, 2}).to(at::kFloat));
  }
}

TEST(Dense, PointwiseConvolutionsOfSmallMapsAreMatrixProducts) {
  auto wide = random_operands({3, 6, 8, 5, 1, 1, 0});
  EXPECT_EQ(dense_pays(wide.x, wide.w, wide.geometry), float_lanes() <= 8);
  const NarrowVectors narrow;
  for (const bool channels_last : {true, false}) {
    for (const int64_t size : {2, 3, 8}) {
      auto o = random_operands({3, 6, size, 5, 1, 1, 0});
      const auto format =
          channels_last ? at::MemoryFormat::ChannelsLast : at::MemoryFormat::Contiguous;
      o.x = o.x.contiguous(format), o.dy = o.dy.contiguous(format);
      ASSERT_TRUE(dense_pays(o.x, o.w, o.geometry));
      for (const auto product : kAllProducts) {
        o.product = product;
        const auto result = run(Dense{}, o);
        EXPECT_CLOSE(result, reference::product(o).tensor()) << name(product) << " " << size;
        EXPECT_TRUE(at::equal(result, run(Dense{}, o, "matrix"))) << name(product);
        if (product == Product::kWeightGradient) {
          EXPECT_EQ(result.strides(),
                    at::empty_like(o.w, {}, at::MemoryFormat::ChannelsLast).strides());
          continue;
        }
        EXPECT_TRUE(result.is_contiguous(at::MemoryFormat::ChannelsLast)) << name(product);
      }
    }
  }
  // Larger ones can be, and are left to LibTorch.
  auto o = random_operands({2, 4, 9, 3, 1, 1, 0});
  EXPECT_FALSE(dense_pays(o.x, o.w, o.geometry));
  EXPECT_CLOSE(run(Dense{}, o, "matrix"), run(Dense{}, o, "libtorch"));
  // A stride, a larger kernel, padding.
  for (const auto& shape : {TestShape{2, 4, 2, 4, 1, 2, 0}, TestShape{2, 4, 1, 4, 3, 1, 1},
                            TestShape{2, 4, 1, 4, 1, 1, 1}}) {
    SCOPED_TRACE(shape);
    const auto other = random_operands(shape);
    EXPECT_FALSE(dense_pays(other.x, other.w, other.geometry));
    EXPECT_THROW(run(Dense{}, other, "matrix"), Error);
  }
}

TEST(Dense, TapsAgreeWithPlainLoops) {
  // Maps of one pixel, smaller than the kernel, higher than wide; channels that no vector divides.
  for (const auto& shape : {TestShape{3, 5, 1, 4, 3, 1, 1}, TestShape{2, 3, 2, 7, 3, 1, 1},
                            TestShape{2, 8, 4, 16, 3, 1, 1}, TestShape{1, 2, 3, 2, 5, 1, 2},
                            TestShape{2, 4, 2, 3, 7, 1, 3}, TestShape{70, 128, 2, 128, 3, 1, 1}}) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    for (const auto product : {Product::kForward, Product::kDataGradient}) {
      o.product = product;
      EXPECT_CLOSE(run(Dense{}, o, "taps"), reference::product(o).tensor()) << name(product);
    }
  }
}

TEST(Dense, PackedAgreesWithPlainLoops) {
  // Tiles of several images and of some rows of one, with a rest; channels that fill no vector and
  // no panel; taps that no pixel meets; rows and columns that a stride leaves out; several parts.
  for (const auto& shape : {TestShape{71, 33, 4, 17, 3, 1, 1}, TestShape{2, 40, 41, 9, 3, 1, 1},
                            TestShape{3, 37, 33, 13, 3, 2, 1}, TestShape{3, 16, 9, 20, 1, 2, 0},
                            TestShape{2, 3, 30, 6, 7, 2, 3}, TestShape{4, 70, 1, 5, 3, 1, 1},
                            TestShape{5, 1, 6, 1, 5, 3, 2}, TestShape{130, 128, 2, 24, 3, 1, 1}}) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    o.product = Product::kWeightGradient;
    EXPECT_CLOSE(run(Dense{}, o, "packed"), reference::product(o).tensor());
  }
}

TEST(Dense, PackedGivesTheSameBitsOnAnyNumberOfThreads) {
  auto o = random_operands({20, 40, 16, 24, 3, 1, 1});
  o.product = Product::kWeightGradient;
  const int before = at::get_num_threads();
  const auto several = run(Dense{}, o, "packed");
  for (const int threads : {1, 3}) {
    at::set_num_threads(threads);
    EXPECT_TRUE(at::equal(run(Dense{}, o, "packed"), several)) << threads;
  }
  at::set_num_threads(before);
}

TEST(Dense, DirectAgreesWithPlainLoops) {
  // Groups of images with a rest; bands of rows; channels that fill no vector, and several blocks
  // of them; pixels that no tap meets and that a stride leaves out; padding wider than the kernel.
  for (const auto& shape :
       {TestShape{13, 33, 4, 17, 3, 1, 1}, TestShape{7, 40, 41, 9, 3, 1, 1},
        TestShape{6, 37, 33, 13, 3, 2, 1}, TestShape{9, 16, 9, 20, 1, 2, 0},
        TestShape{2, 3, 30, 6, 7, 2, 3}, TestShape{4, 70, 1, 5, 3, 1, 1},
        TestShape{1, 1, 1, 1, 1, 1, 2}, TestShape{3, 150, 5, 140, 3, 3, 4},
        TestShape{8, 1200, 3, 31, 1, 1, 0}, TestShape{5, 130, 6, 130, 3, 1, 1}}) {
    SCOPED_TRACE(shape);
    auto o = random_operands(shape);
    for (const auto product : {Product::kForward, Product::kDataGradient}) {
      o.product = product;
      EXPECT_CLOSE(run(Dense{}, o, "direct"), reference::product(o).tensor()) << name(product);
    }
  }
}

TEST(Dense, DirectGivesTheSameBitsOnAnyNumberOfThreads) {
  auto o = random_operands({20, 150, 16, 40, 3, 1, 1});
  const int before = at::get_num_threads();
  for (const auto product : {Product::kForward, Product::kDataGradient}) {
    o.product = product;
    at::set_num_threads(before);
    const auto several = run(Dense{}, o, "direct");
    for (const int threads : {1, 3}) {
      at::set_num_threads(threads);
      EXPECT_TRUE(at::equal(run(Dense{}, o, "direct"), several)) << threads << name(product);
    }
  }
  at::set_num_threads(before);
}

// The variant that is chosen for each product.
std::string taken(Operands& o, Product product) {
  o.product = product;
  return choose<Dense>(problem_of(o))->name;
}

TEST(Dense, OurProductsAreTakenWhereTheyPayAndAgreeWithLibTorch) {
  auto o = random_operands({64, 128, 2, 160, 3, 1, 1});
  ASSERT_TRUE(dense_pays(o.x, o.w, o.geometry));
  const std::string on_small_maps = float_lanes() > 8 ? "direct" : "taps";
  EXPECT_EQ(taken(o, Product::kForward), on_small_maps);
  EXPECT_EQ(taken(o, Product::kDataGradient), on_small_maps);
  EXPECT_EQ(taken(o, Product::kWeightGradient), "packed");
  for (const auto product : kAllProducts) {
    o.product = product;
    EXPECT_CLOSE(run(Dense{}, o), run(Dense{}, o, "libtorch")) << name(product);
  }
  const auto [dx, dw] = dense_gradients(o, true, true);
  o.product = Product::kDataGradient;
  EXPECT_TRUE(at::equal(dx, run(Dense{}, o, on_small_maps)));
  o.product = Product::kWeightGradient;
  EXPECT_TRUE(at::equal(dw, run(Dense{}, o, "packed")));
  // On a larger map of few images the weight gradient alone.
  o = random_operands({16, 128, 4, 160, 3, 1, 1});
  const auto mixed = dense_gradients(o, true, true);
  o.product = Product::kDataGradient;
  EXPECT_TRUE(at::equal(mixed.first, run(Dense{}, o, "libtorch")));
  o.product = Product::kWeightGradient;
  EXPECT_TRUE(at::equal(mixed.second, run(Dense{}, o, "packed")));
  EXPECT_FALSE(dense_gradients(o, true, false).second.defined());
  EXPECT_FALSE(dense_gradients(o, false, true).first.defined());
}

#if HWY_ARCH_X86
// What is chosen where vectors have so many floats.
TEST(Dense, TheWidthOfVectorsDecidesWhereDirectIsTaken) {
  const int64_t of_machine = float_lanes();
  for (const auto& [target, lanes] :
       {std::pair<int64_t, int64_t>{HWY_AVX3, 16}, {HWY_AVX2, 8}, {HWY_SSE4, 4}}) {
    if ((hwy::SupportedTargets() & target) == 0) continue;
    hwy::SetSupportedTargetsForTest(target);
    ASSERT_EQ(float_lanes(), lanes);
    auto plain = random_operands({64, 16, 4, 16, 3, 1, 1});
    auto strided = random_operands({64, 16, 4, 16, 3, 2, 1});
    const auto at_least = [lanes = lanes](int64_t least) {
      return lanes >= least ? "direct" : "libtorch";
    };
    EXPECT_EQ(taken(plain, Product::kForward), lanes == 8 ? "direct" : "libtorch");
    EXPECT_EQ(taken(plain, Product::kDataGradient), lanes == 8 ? "direct" : "libtorch");
    EXPECT_EQ(taken(strided, Product::kForward), lanes == 8 ? "direct" : "libtorch");
    EXPECT_EQ(taken(strided, Product::kDataGradient), at_least(8));
    EXPECT_CLOSE(run(Dense{}, strided), reference::product(strided).tensor());
    // Few images, few channels, what is a matrix product or one for each tap.
    for (const auto& shape : {TestShape{32, 16, 4, 16, 3, 2, 1}, TestShape{64, 3, 4, 16, 3, 2, 1},
                              TestShape{64, 16, 9, 16, 1, 1, 0}}) {
      auto other = random_operands(shape);
      EXPECT_EQ(taken(other, Product::kDataGradient), "libtorch");
    }
    auto large = random_operands({64, 16, 17, 16, 3, 1, 1});
    EXPECT_EQ(taken(large, Product::kForward), lanes == 8 ? "direct" : "libtorch");
    EXPECT_EQ(taken(large, Product::kDataGradient), "libtorch");
    const std::string on_small_maps = lanes == 16 ? "direct" : "taps";
    auto small = random_operands({64, 128, 2, 128, 3, 1, 1});
    EXPECT_EQ(taken(small, Product::kForward), on_small_maps);
    EXPECT_EQ(taken(small, Product::kDataGradient), on_small_maps);
    auto few = random_operands({32, 128, 2, 128, 3, 1, 1});
    EXPECT_EQ(taken(few, Product::kForward), "taps");
    EXPECT_EQ(taken(few, Product::kDataGradient), on_small_maps);
    auto fewer = random_operands({31, 128, 3, 128, 3, 1, 1});
    EXPECT_EQ(taken(fewer, Product::kDataGradient), "taps");
    auto larger = random_operands({64, 128, 4, 128, 3, 1, 1});
    EXPECT_EQ(taken(larger, Product::kDataGradient), lanes == 4 ? "libtorch" : "direct");
    hwy::SetSupportedTargetsForTest(0);
  }
  EXPECT_EQ(float_lanes(), of_machine);
}
#endif

TEST(Dense, TapsAreLeftAloneWhereTheyDoNotFit) {
  const std::string unpadded = float_lanes() > 8 ? "direct" : "libtorch";
  for (const auto& [shape, instead] :
       {std::pair<TestShape, std::string>{{32, 128, 4, 128, 3, 2, 1}, "libtorch"},
        {{32, 128, 4, 128, 3, 1, 0}, unpadded},
        {{4, 128, 9, 128, 1, 1, 0}, "libtorch"}}) {
    auto o = random_operands(shape);
    EXPECT_EQ(taken(o, Product::kDataGradient), instead);
    EXPECT_THROW(run(Dense{}, o, "taps"), Error);
  }
}

// A dY of which a share is not zero.
Operands with_zeros(const TestShape& shape, double share) {
  auto o = random_operands(shape);
  o.x = o.x.contiguous(at::MemoryFormat::ChannelsLast);
  o.dy = (o.dy * at::rand_like(o.dy).lt(share)).contiguous(at::MemoryFormat::ChannelsLast);
  return o;
}

std::string taken_under(Operands& o, Product product) {
  o.product = product;
  for (const auto& candidate : explain(Dense{}, o)) {
    if (candidate.chosen) return candidate.name;
  }
  return {};
}

TEST(Dense, GradientsOfManyZerosAreComputedByTheirEntries) {
  for (const double share : {0.0, 0.1, 0.3}) {
    for (const auto& shape : {TestShape{3, 64, 9, 48, 3, 1, 1}, TestShape{2, 64, 11, 32, 5, 1, 2},
                              TestShape{4, 64, 9, 64, 3, 2, 1}}) {
      SCOPED_TRACE(shape);
      auto o = with_zeros(shape, share);
      EXPECT_TRUE(dense_pays(o.x, o.w, o.geometry, /*dy_may_hold_zeros=*/true));
      const auto [dx, dw] = dense_gradients(o, true, true);
      for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
        EXPECT_EQ(taken_under(o, product), "entries") << name(product);
        expect_variants_agree(Dense{}, o);
        EXPECT_TRUE(at::equal(product == Product::kDataGradient ? dx : dw, run(Dense{}, o)));
        EXPECT_CLOSE(full_product(o), run(Dense{}, o));
      }
      EXPECT_NE(taken_under(o, Product::kForward), "entries");
    }
  }
}

TEST(Dense, EntriesAreLeftAloneWhereTheyDoNotPay) {
  // Rules end at a share of a half, of which a sample may be off.
  const TestShape shape{3, 64, 9, 48, 3, 1, 1};
  auto full = with_zeros(shape, 1), many = with_zeros(shape, 0.48), first = with_zeros(shape, 0.1);
  first.x = first.x.contiguous(), first.dy = first.dy.contiguous();
  for (auto* o : {&full, &many, &first}) {
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      EXPECT_NE(taken_under(*o, product), "entries");
    }
  }
  full.product = first.product = Product::kDataGradient;
  EXPECT_THROW(run(Dense{}, full, "entries"), Error);
  EXPECT_THROW(run(Dense{}, first, "entries"), Error);
  EXPECT_CLOSE(run(Dense{}, many, "entries"), full_product(many));
  // By its name a pruned dY's exact product is the whole one, against which lists are measured.
  auto few = with_zeros(shape, 0.1);
  few.product = Product::kWeightGradient;
  const PrunedDY pruned{few.dy, few.dy.count_nonzero()};
  EXPECT_TRUE(at::equal(run(pruned, few, "exact"), full_product(few)));
}

TEST(Dense, ANaNAmongZerosIsAnEntry) {
  auto o = with_zeros({3, 64, 9, 48, 3, 1, 1}, 0.1);
  o.dy[1][5][4][4] = std::numeric_limits<float>::quiet_NaN();
  const auto [dx, dw] = dense_gradients(o, true, true);
  EXPECT_TRUE(dw[5].isnan().all().item<bool>());
  EXPECT_FALSE(dw[4].isnan().any().item<bool>());
  EXPECT_EQ(dx.isnan().any(1).sum().item<int64_t>(), 9);
}

TEST(Dense, TheDensityOfAGradientIsThatOfASample) {
  EXPECT_EQ(density_by_sample(at::ones({2, 3, 4, 5})), 1);
  EXPECT_EQ(density_by_sample(at::zeros({2, 3, 40, 50})), 0);
  EXPECT_EQ(density_by_sample(at::zeros({0, 3, 4, 5})), 1);
  auto one = at::zeros({1, 1, 10, 10});
  one[0][0][9][9] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(density_by_sample(one), 0.01) << "all of a small one are looked at";
  at::manual_seed(3);
  for (const auto format : {at::MemoryFormat::Contiguous, at::MemoryFormat::ChannelsLast}) {
    const auto dy = at::rand({8, 64, 20, 20}).lt(0.3).to(at::kFloat).contiguous(format);
    EXPECT_NEAR(density_by_sample(dy), 0.3, 0.06);
    EXPECT_EQ(density_by_sample(dy), density_by_sample(dy.clone()));
    EXPECT_EQ(density_by_sample(dy.to(at::kBFloat16)), density_by_sample(dy));
    EXPECT_EQ(density_by_sample(dy.to(at::kHalf)), 1);
    EXPECT_EQ(density_by_sample(dy.slice(3, 0, 7)), 1) << "gaps";
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

// Where there is no GPU its exact path is none, and says why.
TEST(Dense, CudnnsEnginesAreOfAGpuAlone) {
  const auto o = random_operands({2, 4, 9, 3, 3, 1, 1});
  const auto names = variants(Dense{}, o);
  EXPECT_EQ(std::count(names.begin(), names.end(), "cudnn"), 0);
  EXPECT_THROW(run(Dense{}, o, "cudnn"), Error);
  for (const auto& candidate : explain(Dense{}, o)) {
    if (candidate.name == "cudnn") {
      EXPECT_EQ(candidate.limit, Limit::kDevice);
    }
  }
  EXPECT_THROW(use_cudnn_choices("nowhere.json", /*adds=*/false, at::kCPU), Error);
}

}  // namespace
}  // namespace approx
