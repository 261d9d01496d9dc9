// Gradients near the ends of the range of float, whose sums no float can be, and sums of many
// numbers.
#include <fmt/format.h>

#include <limits>

#include "kernels/select/select.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr auto kLast = at::MemoryFormat::ChannelsLast;

double relative(const at::Tensor& got, const at::Tensor& wanted) {
  const auto a = got.to(at::kDouble), b = wanted.to(at::kDouble);
  return ((a - b).abs() / b.abs()).max().item<double>();
}

// What constant planes give to global average pooling, and back.
TEST(LongSums, OfAConstantGradientAreRight) {
  for (const int64_t side : {1, 4, 15, 112, 224, 700}) {
    SCOPED_TRACE(side);
    const auto dy = at::full({1, 8, side, side}, 0.1F);
    const auto sum = dy.to(at::kDouble).sum({2, 3});
    EXPECT_LE(relative(plane_peak(dy).second.squeeze(-1), sum), 1e-6);
    EXPECT_LE(relative(plane_magnitude(dy).flatten(1), sum), 1e-6);
    EXPECT_LE(relative(mean_magnitude(dy), at::full({}, 0.1F)), 1e-6);
    const auto square = dy.to(at::kDouble).square();
    EXPECT_LE(relative(slice_norms(dy, 0), square.sum({1, 2, 3}).sqrt()), 1e-6);
    EXPECT_LE(relative(slice_norms(dy, 1), square.sum({0, 2, 3}).sqrt()), 1e-6);
  }
}

// By what keeps the sum of a plane, which is what would be off.
TEST(LongSums, KeepTheSumsOfPlanesThatAreRescaled) {
  auto operands = operands_with_dy(at::full({1, 16, 112, 112}, 0.1F).contiguous(kLast));
  operands.w = at::ones({16, 16, 1, 1}).contiguous(kLast);
  operands.input_sizes = {1, 16, 112, 112};
  operands.x = at::ones(operands.input_sizes).contiguous(kLast);
  operands.product = Product::kDataGradient;
  // Channel 0 stays where channel 1 is a little less, and else channel 1.
  operands.dy.select(1, 1).fill_(0.1F - 1e-4F).narrow(1, 0, 30).fill_(0.1F + 1e-4F);
  const StructuredDY plan{{.n = 1, .m = 2, .rescaling = Rescaling::kPlane}, {}};
  const auto kept = nm_pruned(operands.dy, plan.choice, plan.rng).dy;
  const auto sum = [](const at::Tensor& dy) { return dy.to(at::kDouble).abs().sum({2, 3}); };
  const auto all = sum(operands.dy), left = sum(kept);
  EXPECT_LE(relative(left.masked_select(left > 0), all.masked_select(left > 0)), 2.5e-6);
  // Each pixel of dX is the sum of what stays there.
  const auto by_rows = run(plan, operands, "rows").to(at::kDouble).select(1, 0);
  EXPECT_LE(relative(by_rows.sum(), kept.to(at::kDouble).sum()), 2.5e-6);
}

TEST(FarGradients, StochasticPruningKeepsTheExpectation) {
  struct Case {
    at::ScalarType type;
    double size;
  };
  for (const auto& [type, size] :
       {Case{at::kFloat, 1e36}, Case{at::kFloat, 2e38}, Case{at::kFloat, 1e-42},
        Case{at::kBFloat16, 1e36}, Case{at::kBFloat16, 2e38}, Case{at::kBFloat16, 1e-38},
        Case{at::kDouble, 1e36}, Case{at::kDouble, 1e300}, Case{at::kDouble, 1e-300},
        Case{at::kHalf, 4e4}}) {
    SCOPED_TRACE(fmt::format("{} of {}", toString(type), size));
    at::manual_seed(7);
    const auto dy =
        ((at::rand({2, 64, 56, 56}, at::kDouble) * 0.5 + 0.5) * size).to(type).contiguous(kLast);
    const auto method = make_method("stochastic_pruning:p=0.9,placement=output");
    const auto pruned = std::get<PrunedDY>(method->plan(operands_with_dy(dy), {.rng = {.seed = 3}}))
                            .dy.to(at::kDouble);
    const double ratio =
        (pruned / size).mean().item<double>() / (dy.to(at::kDouble) / size).mean().item<double>();
    EXPECT_NEAR(ratio, 1, 1e-2);
  }
}

TEST(FarGradients, AreRescaledAsSmallerOnesAre) {
  const double scale = std::ldexp(1.0, 120);
  for (const auto type : {at::kFloat, at::kBFloat16, at::kDouble}) {
    for (const int64_t side : {3, 28}) {
      at::manual_seed(11);
      const auto small = at::randn({1, 64, side, side}).to(type).contiguous(kLast);
      const auto large = small * scale;
      for (const auto rescaling : {Rescaling::kPlane, Rescaling::kGroup}) {
        for (const int64_t m : {4, 8, 16, 32}) {
          const NmChoice choice{.n = m / 2, .m = m, .rescaling = rescaling};
          for (const auto how : {Choosing::kFastest, Choosing::kReference, Choosing::kTensors}) {
            if (how != Choosing::kFastest && m > 4 && side > 3) continue;  // they are slow
            SCOPED_TRACE(fmt::format("{}, side {}, {} of {}, way {}", toString(type), side, m / 2,
                                     m, static_cast<int>(how)));
            EXPECT_TRUE(at::equal(nm_pruned(large, choice, Rng{}, how).dy,
                                  nm_pruned(small, choice, Rng{}, how).dy * scale));
          }
        }
      }
      const auto method = make_method("sdgp:rescale=channel");
      const auto pruned = [&](const at::Tensor& dy) {
        return std::get<PrunedDY>(method->plan(operands_with_dy(dy), {})).dy;
      };
      EXPECT_TRUE(at::equal(pruned(large), pruned(small) * scale));
    }
  }
}

TEST(FarGradients, AreRescaledByTheProductThatChooses) {
  at::manual_seed(12);
  auto o = random_operands(TestShape{2, 16, 28, 16, 3, 1, 1});
  o.product = Product::kDataGradient;
  for (const float scale : {0x1p+119F, 0x1p-110F}) {
    for (const auto rescaling : {Rescaling::kPlane, Rescaling::kGroup}) {
      const StructuredDY plan{{.n = 2, .m = 4, .rescaling = rescaling}, {}};
      auto far = o;
      far.dy = o.dy * scale;
      EXPECT_TRUE(at::equal(run(plan, far, "rows"), run(plan, o, "rows") * scale)) << scale;
    }
  }
}

// Short sums that leave the range of float, whose planes do not when they are halved.
TEST(FarGradients, OfTheLargestFloatsHaveAFactor) {
  auto o = random_operands(TestShape{1, 16, 8, 16, 1, 1, 0});
  o.product = Product::kDataGradient;
  o.dy.fill_(0x1p+126F);
  o.w.fill_(0x1p-20F);
  const StructuredDY plan{{.n = 2, .m = 4, .rescaling = Rescaling::kPlane}, {}};
  // Of planes that stay or go as wholes all factors are 1.
  EXPECT_TRUE(at::equal(run(plan, o, "rows"), at::full_like(o.x, 8 * 0x1p+106F)));
  EXPECT_TRUE(nm_pruned(o.dy, plan.choice, Rng{}).dy.isfinite().all().item<bool>());
}

TEST(FarGradients, PositionsCarryWhatAFloatCanBe) {
  const auto operands = operands_with_dy(at::full({1, 20, 28, 28}, 1e36F));
  const auto carried = [&](const std::string& text) {
    return std::get<SparseDY>(make_method(text)->plan(operands, {})).value;
  };
  // Their sum is none, and is not hidden.
  EXPECT_TRUE(carried("topk_position").isinf().all().item<bool>());
  for (const auto* scale : {"equal", "signed", "l1"}) {
    SCOPED_TRACE(scale);
    const auto value = carried(fmt::format("topk_position:k=4,scale={}", scale));
    EXPECT_LE(relative(value, at::full_like(value, 1e36 * 196)), 1e-6);
  }
}

TEST(FarGradients, HaveNormsThatRank) {
  const auto rising = at::arange(1, 41, at::kDouble).view({1, 40, 1, 1});
  for (const auto type : {at::kFloat, at::kBFloat16}) {
    for (const double size : {1e30, 1e18, 1e-18, 1e-22, 1e-30}) {
      SCOPED_TRACE(fmt::format("{} of {}", toString(type), size));
      const auto tensor = (rising.expand({3, 40, 9, 9}) * size).to(type).contiguous(kLast);
      const auto exact = tensor.to(at::kDouble);
      for (const auto how : {Choosing::kFastest, Choosing::kReference, Choosing::kTensors}) {
        for (const int64_t dim : {0, 1}) {
          EXPECT_LE(
              relative(slice_norms(tensor, dim, how), exact.square().sum({1 - dim, 2, 3}).sqrt()),
              1e-6);
        }
      }
    }
  }
  // One channel far above, one far below, one of zeros.
  auto tensor = at::ones({2, 4, 3, 3});
  tensor.select(1, 1).fill_(1e30F);
  tensor.select(1, 2).fill_(1e-20F);
  tensor.select(1, 3).fill_(0);
  const auto norms = slice_norms(tensor, 1);
  EXPECT_LE(relative(norms.narrow(0, 0, 3), at::tensor({1.0, 1e30, 1e-20}) * std::sqrt(18.0)),
            1e-6);
  EXPECT_EQ(norms[3].item<double>(), 0);
}

TEST(FarGradients, AreSampledByTheirNorms) {
  for (const float size : {1e30F, 1e-30F}) {
    auto o = random_operands(TestShape{6, 16, 5, 24, 3, 1, 1});
    o.product = Product::kDataGradient;
    const auto plain =
        std::get<Sampled>(make_method("topk_crs:mode=backward,ratio=0.5")->plan(o, {}));
    o.dy = o.dy * size;
    const auto far =
        std::get<Sampled>(make_method("topk_crs:mode=backward,ratio=0.5")->plan(o, {}));
    EXPECT_TRUE(at::equal(far.index, plain.index));
    const auto drawn = std::get<Sampled>(make_method("crs:mode=backward,ratio=0.5")->plan(o, {}));
    EXPECT_TRUE(drawn.scale.isfinite().all().item<bool>());
  }
}

TEST(FarGradients, OfABatchAreRankedByTheirSums) {
  const auto rising = at::arange(1, 17, at::kFloat).view({1, 16, 1, 1}) / 16;
  const auto dy = (rising.expand({2, 16, 28, 28}) * 1e36F).contiguous(kLast);
  const auto plan = make_method("meprop:per=batch,k=4")->plan(operands_with_dy(dy), {});
  EXPECT_TRUE(at::equal(std::get<Sampled>(plan).index, at::arange(12, 16)));
}

}  // namespace
}  // namespace approx
