#include "core/methods/method.h"
#include "tests/testing.h"

namespace approx {
namespace {

// Wang 2019, Algorithm 1, in plain loops and double precision: what k = 1 is held to.
at::Tensor algorithm1(const Operands& o) {
  const auto stride = o.geometry.stride.h, padding = o.geometry.padding.h,
             dilation = o.geometry.dilation.h;
  const auto x = at::constant_pad_nd(o.x.to(at::kDouble), {padding, padding, padding, padding});
  auto dw = at::zeros(o.w.sizes(), at::kDouble);  // [Co,Ci,Kh,Kw]
  const auto reach = dilation * (dw.size(2) - 1) + 1;
  for (int64_t c = 0; c < o.dy.size(1); ++c) {
    for (int64_t n = 0; n < o.dy.size(0); ++n) {
      const auto plane = o.dy[n][c].to(at::kDouble);  // [Ho,Wo]
      const auto top = plane.abs().argmax().item<int64_t>();
      const auto row = top / plane.size(1) * stride, col = top % plane.size(1) * stride;
      const auto patch =
          x[n].slice(1, row, row + reach, dilation).slice(2, col, col + reach, dilation);
      dw[c] += patch * plane.sum();  // [Ci,Kh,Kw]
    }
  }
  return dw;
}

SparseDY plan_topk(const Operands& operands, const std::string& arguments) {
  const auto method = make_method("topk_position:" + arguments);
  return std::get<SparseDY>(method->plan(operands, {}));
}

TEST(TopkPosition, KeepsTheLargestMagnitudesAndSharesThePlaneSum) {
  const auto dy = at::tensor({1.f, -5.f, 5.f, 0.5f}).view({1, 1, 2, 2});  // a tie: -5 comes first
  const auto one = plan_topk(operands_with_dy(dy), "k=1");
  EXPECT_EQ(one.position.item<int64_t>(), 1);
  EXPECT_FLOAT_EQ(one.value.item<float>(), 1 - 5 + 5 + 0.5);
  const auto two = plan_topk(operands_with_dy(dy), "k=2");
  EXPECT_TRUE(at::equal(two.position, at::tensor({1, 2}, at::kInt)));
  EXPECT_CLOSE(two.value, at::tensor({0.75f, 0.75f}));
}

TEST(TopkPosition, MatchesAlgorithm1) {
  for (const auto& shape : conv_shapes()) {
    if (shape.groups > 1) continue;  // Algorithm 1 has no groups
    SCOPED_TRACE(shape);
    const auto operands = random_operands(shape);
    EXPECT_CLOSE(run(plan_topk(operands, "k=1"), operands), algorithm1(operands));
  }
}

TEST(TopkPosition, TheFusedSelectionIsTheDefinition) {
  for (const auto& shape : conv_shapes()) {
    const auto operands = random_operands(shape);
    const auto fused = plan_topk(operands, "k=1");
    const auto defined = plan_topk(operands, "k=1,scale=signed");  // never takes the fused path
    EXPECT_TRUE(at::equal(fused.position, defined.position)) << shape;
    EXPECT_CLOSE(fused.value, defined.value);
  }
}

TEST(TopkPosition, IsExactWhenItKeepsEverything) {
  for (const auto& shape : conv_shapes()) {
    SCOPED_TRACE(shape);
    const auto operands = random_operands(shape);
    const auto truth = double_product(operands);
    EXPECT_CLOSE(run(plan_topk(operands, "k=1000,scale=none"), operands), truth);
    EXPECT_TRUE(close(run(plan_topk(operands, "k=1000,scale=signed"), operands), truth, 1e-3));
  }
}

TEST(TopkPosition, L1KeepsThePlanesNorm) {
  const auto operands = random_operands({2, 3, 5, 7, 3, 1, 1});
  const auto plan = plan_topk(operands, "k=3,scale=l1");
  EXPECT_CLOSE(plan.value.view({2, 7, 3}).abs().sum(-1), operands.dy.abs().sum({2, 3}));
}

TEST(TopkPosition, KeptValuesThatCancelAreKeptAsTheyAre) {
  const auto dy = at::tensor({3.f, -3.f, 1.f, 0.f}).view({1, 1, 2, 2});
  EXPECT_CLOSE(plan_topk(operands_with_dy(dy), "k=2,scale=signed").value, at::tensor({3.f, -3.f}));
  const auto zero = operands_with_dy(at::zeros({1, 1, 2, 2}));
  for (const auto* scale : {"equal", "signed", "l1", "none"}) {
    const auto plan = plan_topk(zero, fmt::format("k=2,scale={}", scale));
    EXPECT_TRUE(at::equal(plan.value, at::zeros({2}))) << scale;
  }
}

TEST(TopkPosition, FactorMultipliesTheResult) {
  const auto operands = random_operands({2, 3, 5, 7, 3, 1, 1});
  EXPECT_CLOSE(plan_topk(operands, "factor=0.125").value, plan_topk(operands, "k=1").value * 0.125);
}

TEST(TopkPosition, RejectsKBelowOneAndUnknownScales) {
  EXPECT_THROW(make_method("topk_position:k=0"), Error);
  EXPECT_THROW(make_method("topk_position:scale=sum"), Error);
}

}  // namespace
}  // namespace approx
