// The seam between a batch norm and a layer that looks at its gradient while that is written.
#include "core/nn/gradient_reader.h"

#include <torch/torch.h>

#include "core/nn/approximated_conv.h"
#include "core/nn/norm.h"
#include "kernels/kernel.h"
#include "kernels/select/select.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr Product kBoth[] = {Product::kDataGradient, Product::kWeightGradient};

// A convolution and the norm behind it, step after step.
struct Pair {
  explicit Pair(const std::string& text, at::ScalarType type = at::kFloat)
      : method(make_method(text)) {
    slot.norm_follows = true;
    slot.seed = 7;
    for (const auto product : kBoth)
      slot.use[static_cast<size_t>(product)] = {method.get(), nullptr};
    o = random_operands({4, 16, 9, 32, 3, 1, 1});
    o.x = o.x.to(type);
    o.w = o.w.to(type);
    o.input_sizes = o.x.sizes().vec();
  }

  struct Gradients {
    at::Tensor dx, dw;
  };

  // `read_twice`: the layer's output goes round the norm too.
  Gradients step(uint64_t number, bool read_twice = false) {
    slot.step = number;
    auto x = o.x.clone().requires_grad_(), w = o.w.clone().requires_grad_();
    send_back(approximated_conv(x, w, {}, o.geometry, slot, 3), number, read_twice);
    return {x.grad(), w.grad()};
  }

  // The dY of that step, as it is without a method.
  at::Tensor whole_gradient(uint64_t number, bool read_twice = false) const {
    auto y =
        at::conv2d(o.x, o.w, {}, 1, 1).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
    send_back(y, number, read_twice);
    return y.grad();
  }

  // What the gradients of that step should be, by a threshold of `mean` magnitude.
  Gradients expected(uint64_t number, double tau, bool read_twice = false) const {
    const Rng rng{.seed = 7, .layer = 3, .step = number, .product = Product::kDataGradient};
    auto with = o;
    const auto plan = stochastic_pruned(whole_gradient(number, read_twice),
                                        at::scalar_tensor(tau, at::kFloat), rng);
    with.dy = plan.dy;
    with.product = Product::kDataGradient;
    const auto dx = run(Dense{}, with);
    with.product = Product::kWeightGradient;
    return {dx, run(Dense{}, with)};
  }

  std::unique_ptr<Method> method;
  LayerSlot slot;
  Operands o;

 private:
  // A gradient through the norm behind the layer's output, drawn from the step's number.
  static void send_back(const at::Tensor& y, uint64_t number, bool read_twice) {
    BatchNorm norm(32);
    const auto out = read_twice ? norm->relu(y) + y : norm->relu(y);
    at::manual_seed(static_cast<int64_t>(number));
    out.backward(
        at::randn(out.sizes()).contiguous(at::MemoryFormat::ChannelsLast).to(out.scalar_type()));
  }
};

// Phi^-1(0.95) sqrt(pi / 2), of p = 0.9.
constexpr double kTauOfMean = 1.6448536269514722 * 1.2533141373155003;

double mean_of(const at::Tensor& gradient) {
  return gradient.to(at::kFloat).abs().mean().item<double>();
}

// A draw at the very threshold may fall on either side when the threshold is rounded otherwise: one
// entry of a gradient in thousands.
void expect_about(const at::Tensor& found, const at::Tensor& expected) {
  const double error = (found - expected).to(at::kFloat).norm().item<double>();
  EXPECT_LT(error, 0.01 * expected.to(at::kFloat).norm().item<double>());
}

class PrunedByReader : public ::testing::TestWithParam<at::ScalarType> {};

TEST_P(PrunedByReader, PrunesWhatTheNormWroteByItsOwnMean) {
  Pair pair("stochastic_pruning:p=0.9", GetParam());
  for (const uint64_t step : {1, 2}) {
    const auto found = pair.step(step);
    const auto expected = pair.expected(step, kTauOfMean * mean_of(pair.whole_gradient(step)));
    expect_about(found.dx, expected.dx);
    expect_about(found.dw, expected.dw);
  }
}

TEST_P(PrunedByReader, PrunesWhileTheNormWritesByTheLastMean) {
  Pair pair("stochastic_pruning:p=0.9,statistics=previous", GetParam());
  double mean = mean_of(pair.whole_gradient(1));  // the first step's own
  for (const uint64_t step : {1, 2, 3}) {
    const auto found = pair.step(step);
    const auto expected = pair.expected(step, kTauOfMean * mean);
    expect_about(found.dx, expected.dx);
    expect_about(found.dw, expected.dw);
    mean = mean_of(pair.whole_gradient(step));
    EXPECT_NEAR(pair.method->memory()->item<double>(), mean, 1e-5 * mean);
  }
}

INSTANTIATE_TEST_SUITE_P(In, PrunedByReader, ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return toString(type.param); });

// Autograd then adds up two gradients, of which the norm wrote one: what it showed does not count.
TEST(GradientReader, AnotherReaderOfTheOutputIsNotForgotten) {
  Pair pair("stochastic_pruning:p=0.9");
  const auto found = pair.step(1, /*read_twice=*/true);
  const auto expected =
      pair.expected(1, kTauOfMean * mean_of(pair.whole_gradient(1, true)), /*read_twice=*/true);
  expect_about(found.dx, expected.dx);
  expect_about(found.dw, expected.dw);
}

// The bias gradient is the sum of the whole dY, so that must not be pruned in its place.
TEST(GradientReader, ABiasStillSeesTheWholeGradient) {
  Pair pair("stochastic_pruning:p=0.9,statistics=previous");
  for (const uint64_t step : {1, 2}) {
    pair.slot.step = step;
    auto x = pair.o.x.clone().requires_grad_(), w = pair.o.w.clone().requires_grad_();
    auto b = at::zeros({32}).requires_grad_();
    const auto y = approximated_conv(x, w, b, pair.o.geometry, pair.slot, 3);
    const auto dy = at::randn(y.sizes()).contiguous(at::MemoryFormat::ChannelsLast);
    const auto sums = dy.sum({0, 2, 3});
    y.backward(dy);
    EXPECT_CLOSE(b.grad(), sums);
  }
}

// Of a gradient that somebody else holds, nothing is written over.
TEST(GradientReader, AGradientThatIsHeldElsewhereIsLeftAlone) {
  Pair pair("stochastic_pruning:p=0.9");
  auto x = pair.o.x.clone().requires_grad_(), w = pair.o.w.clone().requires_grad_();
  const auto y = approximated_conv(x, w, {}, pair.o.geometry, pair.slot, 3);
  const auto dy = at::randn(y.sizes()).contiguous(at::MemoryFormat::ChannelsLast);
  const auto before = dy.clone();
  y.backward(dy);
  EXPECT_TRUE(at::equal(dy, before));
}

}  // namespace
}  // namespace approx
