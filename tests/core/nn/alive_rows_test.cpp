// Whole examples that a layer leaves out, handed down through batch norms, against plain operators
// in double precision.
#include "core/nn/alive_rows.h"

#include <torch/torch.h>

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/nn/approximated_conv.h"
#include "core/nn/norm.h"
#include "kernels/kernel.h"
#include "tests/core/nn/with_tail.h"
#include "tests/testing.h"

namespace approx {
namespace {

constexpr std::array kAliveTails = {NormTail::kNone, NormTail::kRelu, NormTail::kAddRelu,
                                    NormTail::kGelu, NormTail::kCelu, NormTail::kAddGelu};
constexpr double kAliveAlpha = 0.3;

at::Tensor alive_map(std::vector<int64_t> sizes, double scale = 1) {
  return (at::randn(sizes) * scale).contiguous(at::MemoryFormat::ChannelsLast);
}

TEST(AliveRows, AreNotedOnOneTensorAsItIs) {
  auto gradient = alive_map({4, 3, 2, 2});
  EXPECT_EQ(alive_rows(gradient), nullptr);
  const auto index = at::tensor({1, 3}, at::kLong);
  note_alive_rows(gradient, {index, 0.5});
  ASSERT_NE(alive_rows(gradient), nullptr);
  EXPECT_TRUE(at::equal(alive_rows(gradient)->index, index));
  EXPECT_EQ(alive_rows(gradient)->ratio, 0.5);
  const auto same = gradient;
  EXPECT_NE(alive_rows(same), nullptr);
  EXPECT_EQ(alive_rows(gradient.flatten(1)), nullptr);
  EXPECT_EQ(alive_rows(gradient + gradient), nullptr);
  EXPECT_EQ(alive_rows(gradient.clone()), nullptr);
  gradient.add_(1);
  EXPECT_EQ(alive_rows(gradient), nullptr) << "other examples may have a gradient now";
}

// What stands beside the norm between the two layers of a chain.
enum class Beside { kNothing, kPoolBehindNorm, kPoolBeforeNorm, kAnotherReader };

// A convolution (layer 1), a norm with a tail, and another convolution (layer 2).
struct Chain {
  explicit Chain(const std::string& text, NormTail of_tail = NormTail::kRelu,
                 Beside is_beside = Beside::kNothing)
      : method(make_method(text)), tail(of_tail), beside(is_beside) {
    at::manual_seed(17);
    x = alive_map({kExamples, 5, 8, 8});
    for (int64_t i = 0; i < kExamples; i += 4) x[i].mul_(3);
    w1 = alive_map({16, 5, 3, 3}), w2 = alive_map({7, 16, 3, 3});
    gamma = at::randn({16}), beta = at::randn({16});
    residual = alive_map({kExamples, 16, 8, 8});
    gradient = alive_map({kExamples, 7, 8, 8});
    // A few examples have most of the gradient.
    for (int64_t i = 1; i < kExamples; i += 5) gradient[i].mul_(10);
  }

  struct Gradients {
    at::Tensor dx, dw1, dw2, dgamma, dbeta, dresidual;
    at::Tensor dy1;  // what the norm sends to the layer before it
    bool is_noted = false;

    std::vector<std::pair<std::string, at::Tensor>> named() const {
      return {{"dx", dx},         {"dw1", dw1},     {"dw2", dw2},
              {"dgamma", dgamma}, {"dbeta", dbeta}, {"dresidual", dresidual}};
    }
  };

  LayerSlot slot(uint64_t step) const {
    LayerSlot orders;
    orders.orders.seed = 9;
    orders.orders.step = step;
    orders.orders.norm_follows = true;
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      orders.orders.methods[static_cast<size_t>(product)] = method.get();
    }
    return orders;
  }

  bool adds() const { return tail == NormTail::kAddRelu || tail == NormTail::kAddGelu; }
  static at::Tensor pooled(const at::Tensor& map) { return at::avg_pool2d(map, 3, 1, 1); }

  Gradients step(uint64_t number, at::ScalarType type = at::kFloat) const {
    const auto leaf = [&](const at::Tensor& t) { return t.to(type).clone().requires_grad_(); };
    const auto in = leaf(x), v1 = leaf(w1), v2 = leaf(w2), added = leaf(residual);
    BatchNorm norm(BatchNormOptions{.channels = 16, .celu_alpha = kAliveAlpha});
    norm->ghost_batch = ghost_batch;
    {
      const at::NoGradGuard no_grad;
      norm->weight.copy_(gamma);
      norm->bias.copy_(beta);
    }
    Gradients found;
    const auto orders = slot(number);
    auto y = approximated_conv(in, v1, {}, kGeometry, orders, 1);
    if (beside == Beside::kPoolBeforeNorm) y = pooled(y);
    y.register_hook([&found](const at::Tensor& dy) {
      found.dy1 = dy.detach().clone();
      found.is_noted = alive_rows(dy) != nullptr;
    });
    const auto z = with_tail(*norm, y, tail, added);
    EXPECT_EQ(z.grad_fn()->name(), "FusedBatchNormBackward");
    const auto read = beside == Beside::kPoolBehindNorm ? pooled(z) : z;
    auto loss = (approximated_conv(read, v2, {}, kGeometry, orders, 2) * gradient.to(type)).sum();
    if (beside == Beside::kAnotherReader) loss = loss + (z * z).sum();
    loss.backward();
    found.dx = in.grad(), found.dw1 = v1.grad(), found.dw2 = v2.grad();
    found.dgamma = norm->weight.grad(), found.dbeta = norm->bias.grad();
    if (adds()) found.dresidual = added.grad();
    return found;
  }

  at::Tensor behind_norm(const at::Tensor& y, const at::Tensor& w, const at::Tensor& b,
                         const at::Tensor& added) const {
    std::vector<at::Tensor> parts;
    for (const auto& part : y.split(ghost_batch == 0 ? kExamples : ghost_batch)) {
      parts.push_back(at::batch_norm(part, w, b, {}, {}, /*training=*/true, 0.1, 1e-5,
                                     /*cudnn_enabled=*/false));
    }
    const auto normed = at::cat(parts);
    switch (tail) {
      case NormTail::kNone:
        return normed;
      case NormTail::kRelu:
        return normed.relu();
      case NormTail::kAddRelu:
        return (normed + added).relu();
      case NormTail::kGelu:
        return at::gelu(normed);
      case NormTail::kCelu:
        return at::celu(normed, kAliveAlpha);
      case NormTail::kAddGelu:
        return at::gelu(normed + added);
    }
    return {};
  }

  // dY as the method samples it in that layer; tests of the method hold that to its definition.
  at::Tensor sampled(const at::Tensor& dy, uint64_t number, uint32_t layer,
                     std::optional<AliveRows>& rows) const {
    Operands o;
    o.dy = dy.to(at::kFloat).contiguous(at::MemoryFormat::ChannelsLast);
    o.x = layer == 1 ? x : residual;
    o.w = layer == 1 ? w1 : w2;
    o.geometry = kGeometry;
    o.product = Product::kDataGradient;
    o.input_sizes = o.x.sizes().vec();
    const Rng rng{.seed = 9, .layer = layer, .step = number, .product = o.product};
    const auto plan = method->plan(o, {.rng = rng, .alive = rows ? &*rows : nullptr});
    rows.reset();
    if (std::holds_alternative<Dense>(plan)) return dy;
    const auto& sample = std::get<Sampled>(plan);
    rows = AliveRows{sample.index, method->drops_examples().value_or(1)};
    auto factor = at::zeros({kExamples}, at::kDouble);
    factor.index_copy_(0, sample.index,
                       sample.scale.defined() ? sample.scale.to(at::kDouble)
                                              : at::ones({sample.index.numel()}, at::kDouble));
    return dy * factor.view({-1, 1, 1, 1});
  }

  // One operation after the other, from the end, in double by LibTorch's operators.
  Gradients by_definition(uint64_t number, bool drops) const {
    const auto leaf = [](const at::Tensor& t) {
      return t.to(at::kDouble).detach().clone().requires_grad_();
    };
    const auto gradients = [](const at::Tensor& of, const std::vector<at::Tensor>& by,
                              const at::Tensor& from) {
      return torch::autograd::grad({of}, by, {from}, /*retain_graph=*/true, false,
                                   /*allow_unused=*/true);
    };
    const auto in = leaf(x), v1 = leaf(w1), v2 = leaf(w2), added = leaf(residual), w = leaf(gamma),
               b = leaf(beta);
    const auto y1 = at::conv2d(in, v1, {}, 1, 1);
    const auto y1_leaf = leaf(y1);
    const auto y = beside == Beside::kPoolBeforeNorm ? pooled(y1_leaf) : y1_leaf * 1;
    const auto y_leaf = leaf(y);
    const auto z = behind_norm(y_leaf, w, b, added);
    const auto z_leaf = leaf(z);
    const auto read = beside == Beside::kPoolBehindNorm ? pooled(z_leaf) : z_leaf * 1;
    const auto read_leaf = leaf(read);

    Gradients wanted;
    std::optional<AliveRows> rows;
    const auto dy2 = sampled(gradient.to(at::kDouble), number, 2, rows);
    const auto of_2 = gradients(at::conv2d(read_leaf, v2, {}, 1, 1), {read_leaf, v2}, dy2);
    wanted.dw2 = of_2[1];
    auto dz = gradients(read, {z_leaf}, of_2[0])[0];
    if (beside == Beside::kAnotherReader) dz = dz + 2 * z.detach();
    const auto of_norm = gradients(z, {y_leaf, w, b, added}, dz);
    wanted.dgamma = of_norm[1], wanted.dbeta = of_norm[2], wanted.dresidual = of_norm[3];
    auto dy = of_norm[0];
    if (drops) dy = dy.masked_fill((dz == 0).flatten(1).all(1).view({-1, 1, 1, 1}), 0);
    wanted.dy1 = dy;
    const auto dy1 = gradients(y, {y1_leaf}, dy)[0];
    if (!drops || beside != Beside::kNothing) rows.reset();  // nobody hands them down
    const auto of_1 = gradients(y1, {in, v1}, sampled(dy1, number, 1, rows));
    wanted.dx = of_1[0], wanted.dw1 = of_1[1];
    return wanted;
  }

  static constexpr int64_t kExamples = 12;
  static inline const Geometry kGeometry = {1, 1, 1, 1};

  std::unique_ptr<Method> method;
  NormTail tail;
  Beside beside;
  int64_t ghost_batch = 0;
  at::Tensor x, w1, w2, gamma, beta, residual, gradient;
};

// The tolerance is for the distance of whole tensors: a ReLU may fall on the other side at an
// entry.
void expect_near(const Chain::Gradients& got, const Chain::Gradients& wanted, double tolerance) {
  const auto expected = wanted.named();
  size_t i = 0;
  for (const auto& [name, found] : got.named()) {
    const auto& truth = expected[i++].second;
    ASSERT_EQ(found.defined(), truth.defined()) << name;
    if (!found.defined()) continue;
    const auto distance = (found.to(at::kDouble) - truth).norm() / (truth.norm() + 1e-12);
    EXPECT_LT(distance.item<double>(), tolerance) << name;
  }
}

// The examples whose gradient is zero, [n] bool.
at::Tensor dead_examples(const at::Tensor& gradient) { return (gradient == 0).flatten(1).all(1); }

// norm=drop: examples that layer 2 left out stay out at the norm, with every tail. norm=resample:
// they come back, and layer 1 samples all of them.
TEST(AliveRows, ANormDropsOrBringsBackWhatALayerLeftOut) {
  for (const bool drops : {true, false}) {
    for (const auto tail : kAliveTails) {
      for (const int64_t ghost_batch : {0, 5}) {
        SCOPED_TRACE(fmt::format("drops {}, tail {}, ghost batch {}", drops, static_cast<int>(tail),
                                 ghost_batch));
        Chain chain(fmt::format("vcas:ratio=0.5,norm={}", drops ? "drop" : "resample"), tail);
        chain.ghost_batch = ghost_batch;
        for (uint64_t step = 0; step < 4; ++step) {
          const auto got = chain.step(step), wanted = chain.by_definition(step, drops);
          expect_near(got, wanted, 2e-3);
          const auto dead = dead_examples(got.dy1);
          EXPECT_TRUE(at::equal(dead, dead_examples(wanted.dy1)));
          EXPECT_EQ(dead.any().item<bool>(), drops);
          EXPECT_EQ(got.is_noted, drops);
        }
      }
    }
  }
}

// Where the note is lost on the way to a norm, the norm looks at the gradient itself, if the layer
// before it drops examples. Where it is lost behind a norm, the layer samples what it gets. A sum
// with another gradient has no example that is left out.
TEST(AliveRows, ANoteThatIsLostChangesNoGradient) {
  for (const auto beside :
       {Beside::kPoolBehindNorm, Beside::kPoolBeforeNorm, Beside::kAnotherReader}) {
    for (const auto tail : {NormTail::kRelu, NormTail::kAddRelu, NormTail::kGelu}) {
      SCOPED_TRACE(
          fmt::format("beside {}, tail {}", static_cast<int>(beside), static_cast<int>(tail)));
      const Chain chain("vcas:ratio=0.5,norm=drop", tail, beside);
      for (uint64_t step = 0; step < 4; ++step) {
        const auto got = chain.step(step), wanted = chain.by_definition(step, /*drops=*/true);
        expect_near(got, wanted, 2e-3);
        EXPECT_EQ(got.is_noted, beside != Beside::kAnotherReader);
        EXPECT_TRUE(at::equal(dead_examples(got.dy1), dead_examples(wanted.dy1)));
      }
    }
  }
}

TEST(AliveRows, InSixteenBitsTheyAreThoseOfFloat) {
  const Chain chain("vcas:norm=drop");
  for (uint64_t step = 0; step < 3; ++step) {
    const auto half = chain.step(step, at::kBFloat16), whole = chain.step(step);
    EXPECT_TRUE(at::equal(dead_examples(half.dy1), dead_examples(whole.dy1)));
    const auto truths = whole.named();
    size_t i = 0;
    for (const auto& [name, found] : half.named()) {
      const auto& truth = truths[i++].second;
      if (!found.defined()) continue;
      const auto distance = (found.to(at::kFloat) - truth).norm() / truth.norm();
      EXPECT_LT(distance.item<double>(), 0.1) << name;
    }
  }
}

// Nothing was drawn: every gradient below is zero, and nothing fails.
TEST(AliveRows, NoExampleAtAllIsAGradientOfZero) {
  Chain chain("vcas:ratio=0.05,norm=drop");
  chain.gradient = at::ones_like(chain.gradient);
  int empty = 0;
  for (uint64_t step = 0; step < 20; ++step) {
    const auto got = chain.step(step);
    if (got.dw2.abs().max().item<float>() > 0) continue;
    ++empty;
    for (const auto& [name, found] : got.named()) {
      if (found.defined()) {
        EXPECT_EQ(found.abs().max().item<float>(), 0) << name;
      }
    }
  }
  EXPECT_GT(empty, 0);
}

// The mean over many steps of resampling is the exact gradient of both layers and of the norm.
TEST(AliveRows, ResamplingIsUnbiasedThroughANorm) {
  constexpr int kSteps = 1500;
  const Chain chain("vcas:ratio=0.5"), exact("exact");
  const auto wanted = exact.step(0).named();
  std::vector<at::Tensor> sum;
  std::vector<double> square;
  for (uint64_t step = 0; step < kSteps; ++step) {
    const auto got = chain.step(step).named();
    for (size_t i = 0; i < 5; ++i) {
      const auto found = got[i].second.to(at::kDouble);
      if (step == 0) sum.push_back(at::zeros_like(found)), square.push_back(0);
      sum[i] += found;
      square[i] += (found - wanted[i].second).square().sum().item<double>();
    }
  }
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_GT(square[i], 0) << wanted[i].first;
    EXPECT_LT((sum[i] / kSteps - wanted[i].second).square().sum().item<double>(),
              4 * square[i] / kSteps / kSteps)
        << wanted[i].first;
  }
}

}  // namespace
}  // namespace approx
