// What methods ask of the kernel of a GPU that writes their gradient, done by hand on a CPU's
// memory.
#include <torch/torch.h>

#include "core/methods/method.h"
#include "kernels/numbers_of.h"
#include "kernels/select/pruned.h"
#include "kernels/select/select.h"
#include "tests/testing.h"

namespace approx {
namespace {

// Phi^-1(0.95) sqrt(pi / 2), of p = 0.9.
constexpr double kThresholdOfMean = 1.6448536269514722 * 1.2533141373155003;

// As the kernel does it.
void do_as_asked(const GradientLook& look, const at::Tensor& gradient) {
  *look.mean = gradient.to(at::kFloat).abs().mean().item<float>();
  if (look.tau == nullptr) return;
  of_three_types(gradient.scalar_type(), [&]<typename Number>(Number) {
    const StochasticArgs<Number> args{.count = gradient.numel(),
                                      .dy = numbers_of<Number>(gradient),
                                      .pruned = mutable_numbers_of<Number>(gradient),
                                      .tau = *look.tau,
                                      .rng = look.rng};
    *look.kept += stochastic_reference(args, 0, args.count);
  });
}

class GradientLookOf : public ::testing::TestWithParam<at::ScalarType> {
 protected:
  // One pass of a method over a gradient that a GPU's kernel wrote. `scale`: of the loss.
  struct Pass {
    at::Tensor whole;  // the gradient before anybody looked
    PrunedDY plan;
    bool pruned_by_the_kernel = false;
  };
  Pass pass(Method& method, uint64_t step, double scale = 1) const {
    at::manual_seed(static_cast<int64_t>(step));
    auto o = random_operands({2, 3, 5, 8, 3, 1, 1});
    o.product = Product::kDataGradient;
    for (auto* tensor : {&o.x, &o.w}) *tensor = tensor->to(GetParam());
    o.dy =
        (at::randn(o.dy.sizes()) * scale).to(GetParam()).contiguous(at::MemoryFormat::ChannelsLast);
    Pass made{.whole = o.dy.clone(), .plan = {}};
    MethodCall call{.rng = rng(step), .norm_follows = true};
    if (scale != 1) call.loss_scale = at::scalar_tensor(scale, at::kFloat);
    MagnitudeVisitor visitor(method.look(call).value());
    const auto look = visitor.look(o.dy);
    do_as_asked(look, o.dy);
    made.pruned_by_the_kernel = look.tau != nullptr;
    const auto seen = visitor.seen();
    call.seen = &seen;
    made.plan = std::get<PrunedDY>(method.plan(o, call));
    return made;
  }

  static Rng rng(uint64_t step) {
    return {.seed = 5, .layer = 2, .step = step, .product = Product::kDataGradient};
  }
  static double mean_of(const at::Tensor& gradient) {
    return gradient.to(at::kFloat).abs().mean().item<double>();
  }
  // What should be left by a threshold of that mean. (A draw at the very threshold may fall on
  // either side when that is rounded otherwise.)
  static void expect_left(const Pass& pass, uint64_t step, double mean) {
    const double tau = kThresholdOfMean * mean;
    const auto wanted =
        stochastic_pruned(pass.whole, at::scalar_tensor(tau, at::kFloat), rng(step));
    const auto off = (pass.plan.dy - wanted.dy).to(at::kFloat).abs() > 0.01 * tau;
    EXPECT_LE(off.sum().item<int64_t>(), 1);
    EXPECT_EQ(pass.plan.kept.item<int64_t>(), pass.plan.dy.count_nonzero().item<int64_t>());
    EXPECT_LT(pass.plan.kept.item<int64_t>(), pass.whole.numel());
  }
};

TEST_P(GradientLookOf, TheMeanSetsTheThresholdOfTheSameGradient) {
  const auto method = make_method("stochastic_pruning:p=0.9");
  for (const uint64_t step : {1, 2}) {
    const auto found = pass(*method, step);
    EXPECT_FALSE(found.pruned_by_the_kernel);
    expect_left(found, step, mean_of(found.whole));
  }
}

TEST_P(GradientLookOf, TheKernelPrunesByTheMeanOfTheStepBefore) {
  const auto method = make_method("stochastic_pruning:p=0.9,statistics=previous");
  double mean = 0;
  for (const uint64_t step : {1, 2, 3}) {
    const auto found = pass(*method, step);
    EXPECT_EQ(found.pruned_by_the_kernel, step > 1);
    expect_left(found, step, step > 1 ? mean : mean_of(found.whole));
    mean = mean_of(found.whole);
    EXPECT_NEAR(method->memory()->item<double>(), mean, 1e-5 * mean);
  }
}

TEST_P(GradientLookOf, TheMemoryIsInTheUnitsOfTheLoss) {
  const auto method = make_method("stochastic_pruning:p=0.9,statistics=previous");
  double mean = 0;
  for (const double scale : {4.0, 64.0, 16.0}) {
    const auto step = static_cast<uint64_t>(scale);
    const auto found = pass(*method, step, scale);
    if (mean > 0) expect_left(found, step, scale * mean);
    mean = mean_of(found.whole) / scale;
    EXPECT_NEAR(method->memory()->item<double>(), mean, 1e-5 * mean);
  }
}

INSTANTIATE_TEST_SUITE_P(In, GradientLookOf,
                         ::testing::Values(at::kFloat, at::kBFloat16, at::kHalf),
                         [](const auto& type) { return toString(type.param); });

}  // namespace
}  // namespace approx
