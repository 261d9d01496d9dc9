// The seam between a batch norm and a layer that looks at its gradient while that is written.
#include "core/nn/gradient_reader.h"

#include <torch/csrc/autograd/functions/utils.h>
#include <torch/torch.h>

#include "core/nn/approximated_conv.h"
#include "core/nn/norm.h"
#include "kernels/kernel.h"
#include "kernels/select/select.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr Product kBoth[] = {Product::kDataGradient, Product::kWeightGradient};

// Who takes the output of the convolution: the norm behind it; something beside it; the norm for
// both terms of its sum.
enum class Readers { kNorm, kAnotherToo, kNormTwice };

// A convolution and the norm behind it, step after step.
struct Pair {
  explicit Pair(const std::string& text, at::ScalarType type = at::kFloat)
      : method(make_method(text)) {
    slot.orders.norm_follows = true;
    slot.orders.seed = 7;
    for (const auto product : kBoth)
      slot.orders.methods[static_cast<size_t>(product)] = method.get();
    o = random_operands({4, 16, 9, 32, 3, 1, 1});
    o.x = o.x.to(type);
    o.w = o.w.to(type);
    o.input_sizes = o.x.sizes().vec();
  }

  struct Gradients {
    at::Tensor dx, dw;
  };

  Gradients step(uint64_t number, Readers readers = Readers::kNorm) {
    slot.orders.step = number;
    auto x = o.x.clone().requires_grad_(), w = o.w.clone().requires_grad_();
    send_back(approximated_conv(x, w, {}, o.geometry, slot, 3), number, readers, ghost_batch);
    return {x.grad(), w.grad()};
  }

  // The dY of that step, as it is without a method.
  at::Tensor whole_gradient(uint64_t number, Readers readers = Readers::kNorm) const {
    auto y =
        at::conv2d(o.x, o.w, {}, 1, 1).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
    send_back(y, number, readers, ghost_batch);
    return y.grad();
  }

  // What the gradients of that step should be, by a threshold of `mean` magnitude.
  Gradients expected(uint64_t number, double tau, Readers readers = Readers::kNorm) const {
    const Rng rng{.seed = 7, .layer = 3, .step = number, .product = Product::kDataGradient};
    auto with = o;
    const auto plan =
        stochastic_pruned(whole_gradient(number, readers), at::scalar_tensor(tau, at::kFloat), rng);
    with.dy = plan.dy;
    with.product = Product::kDataGradient;
    const auto dx = run(Dense{}, with);
    with.product = Product::kWeightGradient;
    return {dx, run(Dense{}, with)};
  }

  // A gradient through the norm behind the layer's output, drawn from the step's number.
  static void send_back(const at::Tensor& y, uint64_t number, Readers readers = Readers::kNorm,
                        int64_t ghost_batch = 0) {
    BatchNorm norm(32);
    norm->ghost_batch = ghost_batch;
    const auto out = readers == Readers::kNorm         ? norm->relu(y)
                     : readers == Readers::kAnotherToo ? norm->relu(y) + y
                                                       : norm->add_relu(y, y);
    at::manual_seed(static_cast<int64_t>(number));
    const auto gradient =
        at::randn(out.sizes()).contiguous(at::MemoryFormat::ChannelsLast).to(out.scalar_type());
    (out * gradient).sum().backward();
  }

  std::unique_ptr<Method> method;
  LayerSlot slot;
  Operands o;
  int64_t ghost_batch = 0;  // of the norm
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

// Then the norm writes its gradient in parts: of three images and of one.
TEST_P(PrunedByReader, PrunesAlikeWhatANormWroteInParts) {
  for (const bool previous : {false, true}) {
    Pair pair(
        previous ? "stochastic_pruning:p=0.9,statistics=previous" : "stochastic_pruning:p=0.9",
        GetParam());
    pair.ghost_batch = 3;
    double mean = mean_of(pair.whole_gradient(1));
    for (const uint64_t step : {1, 2, 3}) {
      SCOPED_TRACE(step);
      const double own = mean_of(pair.whole_gradient(step));
      const auto found = pair.step(step);
      const auto expected = pair.expected(step, kTauOfMean * (previous ? mean : own));
      expect_about(found.dx, expected.dx);
      expect_about(found.dw, expected.dw);
      mean = own;
      if (!previous) continue;
      EXPECT_NEAR(pair.method->memory()->item<double>(), mean, 1e-5 * mean);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(In, PrunedByReader, ::testing::Values(at::kFloat, at::kBFloat16),
                         [](const auto& type) { return toString(type.param); });

// Autograd then adds up two gradients, of which the norm wrote one: what it showed does not count.
TEST(GradientReader, AnotherReaderOfTheOutputIsNotForgotten) {
  for (const auto readers : {Readers::kAnotherToo, Readers::kNormTwice}) {
    Pair pair("stochastic_pruning:p=0.9");
    const auto found = pair.step(1, readers);
    const auto expected =
        pair.expected(1, kTauOfMean * mean_of(pair.whole_gradient(1, readers)), readers);
    expect_about(found.dx, expected.dx);
    expect_about(found.dw, expected.dw);
  }
}

// Nor may one of the two be pruned while it is written: their sum would be pruned once more, by the
// same draws, and what is remembered would be the mean of neither.
TEST(GradientReader, WithAnotherReaderOfTheOutputTheSumIsPrunedOnce) {
  for (const auto readers : {Readers::kAnotherToo, Readers::kNormTwice}) {
    Pair pair("stochastic_pruning:p=0.9,statistics=previous");
    double mean = mean_of(pair.whole_gradient(1, readers));  // the first step's own
    for (const uint64_t step : {1, 2, 3}) {
      const auto found = pair.step(step, readers);
      const auto expected = pair.expected(step, kTauOfMean * mean, readers);
      expect_about(found.dx, expected.dx);
      expect_about(found.dw, expected.dw);
      mean = mean_of(pair.whole_gradient(step, readers));
      EXPECT_NEAR(pair.method->memory()->item<double>(), mean, 1e-5 * mean);
    }
  }
}

// A node behind a layer that asks as a norm does.
struct Asks final : torch::autograd::Node {
  explicit Asks(bool& is_offered) : offered(is_offered) {}

  torch::autograd::variable_list apply(torch::autograd::variable_list&& gradients) override {
    auto* reader = dynamic_cast<GradientReader*>(next_edge(0).function.get());
    offered = reader->visitor(*this) != nullptr;
    return std::move(gradients);
  }

  bool& offered;
};

TEST(GradientReader, LooksWhereNothingElseSendsItAGradient) {
  const Pair pair("stochastic_pruning:p=0.9");
  const auto offers = [&](const auto& result) {
    bool offered = false;
    auto x = pair.o.x.clone().requires_grad_(), w = pair.o.w.clone().requires_grad_();
    const auto y = approximated_conv(x, w, {}, pair.o.geometry, pair.slot, 3);
    const auto asks = std::make_shared<Asks>(offered);
    asks->set_next_edges(torch::autograd::collect_next_edges(y));
    auto behind = y.detach().clone();
    torch::autograd::set_history(behind, asks);
    at::Tensor out = result(y, behind);
    out.square().sum().backward();
    return offered;
  };
  EXPECT_TRUE(offers([](const at::Tensor&, const at::Tensor& behind) { return behind; }));
  EXPECT_FALSE(offers([](const at::Tensor& y, const at::Tensor& behind) { return behind + y; }));
  EXPECT_FALSE(
      offers([](const at::Tensor& y, const at::Tensor& behind) { return y.square() * behind; }));
}

// The bias gradient is the sum of the whole dY, so that must not be pruned in its place. Behind a
// norm it is nothing but rounding; of a pruned dY it would be as large as its entries.
TEST(GradientReader, ABiasStillSeesTheWholeGradient) {
  Pair pair("stochastic_pruning:p=0.9,statistics=previous");
  for (const uint64_t step : {1, 2}) {
    pair.slot.orders.step = step;
    auto x = pair.o.x.clone().requires_grad_(), w = pair.o.w.clone().requires_grad_();
    auto b = at::zeros({32}).requires_grad_(), exact = at::zeros({32}).requires_grad_();
    Pair::send_back(approximated_conv(x, w, b, pair.o.geometry, pair.slot, 3), step);
    Pair::send_back(
        at::conv2d(pair.o.x, pair.o.w, exact, 1, 1).contiguous(at::MemoryFormat::ChannelsLast),
        step);
    EXPECT_LT((b.grad() - exact.grad()).abs().max().item<double>(), 1e-3);

    const auto whole = pair.whole_gradient(step);
    const auto tau = at::scalar_tensor(kTauOfMean * mean_of(whole), at::kFloat);
    const auto of_pruned = stochastic_pruned(whole, tau, Rng{}).dy.sum({0, 2, 3});
    EXPECT_GT(of_pruned.abs().max().item<double>(), 0.1);
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
