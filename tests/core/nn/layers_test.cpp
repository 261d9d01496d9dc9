#include "core/nn/layers.h"

#include <torch/torch.h>

#include <utility>

#include "core/methods/pruning.h"
#include "core/train/precision.h"
#include "kernels/select/select.h"
#include "kernels/variant.h"
#include "tests/testing.h"

namespace approx {
namespace {

struct Gradients {
  at::Tensor y, dx, dw, db;
};

// y and the gradients of sum(y * weights) through the layer's own function or LibTorch's.
Gradients through(const TestShape& s, const LayerSlot* slot, bool bias = true) {
  const auto o = random_operands(s);
  auto x = o.x.clone().requires_grad_(), w = o.w.clone().requires_grad_();
  auto b = bias ? at::ones({s.co}).requires_grad_() : at::Tensor();
  const auto y = slot != nullptr ? approximated_conv(x, w, b, o.geometry, *slot, 1)
                                 : at::conv2d(x, w, b, {s.stride, s.stride}, {s.padding, s.padding},
                                              {1, 1}, s.groups);
  (y * o.dy).sum().backward();
  return {y.detach(), x.grad(), w.grad(), bias ? b.grad() : at::Tensor()};
}

LayerSlot slot_with(Method* method, std::initializer_list<Product> products) {
  LayerSlot slot;
  for (const auto product : products) slot.orders.methods[static_cast<size_t>(product)] = method;
  return slot;
}

TEST(Layers, ExactProductsThroughOurFunctionAreLibTorchs) {
  const auto exact = make_method("exact");
  for (const auto& shape : conv_shapes()) {
    SCOPED_TRACE(shape);
    const auto expected = through(shape, nullptr);
    const auto slot = slot_with(
        exact.get(), {Product::kForward, Product::kDataGradient, Product::kWeightGradient});
    const auto got = through(shape, &slot);
    EXPECT_CLOSE(got.y, expected.y);
    EXPECT_CLOSE(got.dx, expected.dx);
    EXPECT_CLOSE(got.dw, expected.dw);
    EXPECT_CLOSE(got.db, expected.db);
  }
}

// Pairs at scale 0 beside those that were drawn change nothing of what a layer gives.
TEST(Layers, ASampleOfFixedSizeGivesTheGradientsOfWhatWasDrawn) {
  for (const std::string mode : {"both", "backward", "weight_gradient", "black_box"}) {
    const auto drawn = make_method("crs:mode=" + mode);
    const auto fixed = make_method("crs:size=fixed,mode=" + mode);
    const auto& entry = Registry<MethodEntry>::instance().find("crs");
    const auto& products =
        entry.products_with(Params(entry.params, parse_spec("crs:mode=" + mode)));
    for (const auto& shape : conv_shapes()) {
      SCOPED_TRACE(testing::Message() << mode << " " << shape);
      const auto through_method = [&](Method& method) {
        LayerSlot slot{.orders = {.seed = 3}, .counts = {}};
        for (const auto p : products) slot.orders.methods[static_cast<size_t>(p)] = &method;
        return through(shape, &slot);
      };
      const auto expected = through_method(*drawn), got = through_method(*fixed);
      EXPECT_CLOSE(got.y, expected.y);
      EXPECT_CLOSE(got.dx, expected.dx);
      EXPECT_CLOSE(got.dw, expected.dw);
      EXPECT_CLOSE(got.db, expected.db);
    }
  }
}

TEST(Layers, OnlyTheWeightGradientIsApproximated) {
  const auto zero = make_method("zero");
  for (const auto& shape : conv_shapes()) {
    SCOPED_TRACE(shape);
    const auto expected = through(shape, nullptr);
    const auto slot = slot_with(zero.get(), {Product::kWeightGradient});
    const auto got = through(shape, &slot);
    EXPECT_CLOSE(got.y, expected.y);
    EXPECT_CLOSE(got.dx, expected.dx);
    EXPECT_CLOSE(got.db, expected.db);
    EXPECT_EQ(got.dw.abs().max().item<float>(), 0);
  }
}

TEST(Layers, AFrozenWeightGetsNoGradient) {
  const auto frozen = make_method("zero:freeze=true");
  const auto slot = slot_with(frozen.get(), {Product::kWeightGradient});
  EXPECT_FALSE(through({2, 3, 5, 7, 3, 1, 1}, &slot).dw.defined());
}

TEST(Layers, AFreeMixGivesEachProductItsMethod) {
  const auto exact = make_method("exact"), topk = make_method("topk_position");
  auto slot = slot_with(exact.get(), {Product::kDataGradient});
  slot.orders.methods[static_cast<size_t>(Product::kWeightGradient)] = topk.get();
  const TestShape shape{3, 9, 8, 17, 3, 2, 1};
  const auto expected = through(shape, nullptr), got = through(shape, &slot);
  EXPECT_CLOSE(got.dx, expected.dx);
  const auto o = random_operands(shape);
  EXPECT_CLOSE(got.dw, run(topk->plan(o, {}), o));
}

TEST(Layers, FiniteDifferencesAgree) {
  // Central differences of a scalar of y along random directions of x and w, in double precision.
  const auto exact = make_method("exact");
  const auto slot =
      slot_with(exact.get(), {Product::kForward, Product::kDataGradient, Product::kWeightGradient});
  for (const auto& shape : conv_shapes()) {
    SCOPED_TRACE(shape);
    const auto o = random_operands(shape);
    const auto dy = o.dy.to(at::kDouble);
    const auto value = [&](const at::Tensor& x, const at::Tensor& w) {
      return (approximated_conv(x, w, {}, o.geometry, slot, 1).pow(2) * dy).sum();
    };
    auto x = o.x.to(at::kDouble).requires_grad_(), w = o.w.to(at::kDouble).requires_grad_();
    value(x, w).backward();
    const at::NoGradGuard no_grad;
    constexpr double kStep = 1e-6;
    const auto direction_x = at::randn_like(x), direction_w = at::randn_like(w);
    const double difference = ((value(x + kStep * direction_x, w + kStep * direction_w) -
                                value(x - kStep * direction_x, w - kStep * direction_w)) /
                               (2 * kStep))
                                  .item<double>();
    const double derivative =
        ((x.grad() * direction_x).sum() + (w.grad() * direction_w).sum()).item<double>();
    EXPECT_NEAR(difference, derivative, 1e-5 * std::max(1.0, std::abs(derivative)));
  }
}

TEST(Layers, ASkippedWeightGradientLetsItsInputGo) {
  const auto zero = make_method("zero"), exact = make_method("exact");
  for (const auto& [method, kept] : {std::pair{zero.get(), false}, std::pair{exact.get(), true}}) {
    const auto slot = slot_with(method, {Product::kWeightGradient});
    auto leaf = at::randn({2, 3, 8, 8}).requires_grad_();
    auto w = at::randn({4, 3, 3, 3}).requires_grad_();
    at::Tensor y;
    c10::weak_intrusive_ptr<at::TensorImpl> watched(leaf.getIntrusivePtr());
    {
      const auto x = leaf * 2;  // referred to by the graph alone once this scope ends
      watched = c10::weak_intrusive_ptr<at::TensorImpl>(x.getIntrusivePtr());
      y = approximated_conv(x, w, {}, {1, 1, 1, 1}, slot, 1);
    }
    EXPECT_EQ(!watched.expired(), kept);
    y.sum().backward();
    EXPECT_TRUE(leaf.grad().defined());
  }
}

TEST(Layers, LinearApproximatesAsAOneByOneConvolution) {
  const auto exact = make_method("exact");
  const auto input = at::randn({7, 12}), upstream = at::randn({7, 5});
  for (const bool with_bias : {true, false}) {
    Linear layer(12, 5, with_bias);
    ASSERT_EQ(layer->parameters().size(), with_bias ? 2u : 1u);
    EXPECT_EQ(layer->info.parameters, with_bias ? 65 : 60);
    const auto gradients = [&] {
      layer->zero_grad();
      auto x = input.clone().requires_grad_();
      (layer(x) * upstream).sum().backward();
      std::vector<at::Tensor> found = {x.grad()};
      for (const auto& parameter : layer->parameters()) found.push_back(parameter.grad().clone());
      return found;
    };
    const auto expected = gradients();
    layer->slot = slot_with(exact.get(),
                            {Product::kForward, Product::kDataGradient, Product::kWeightGradient});
    const auto got = gradients();
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_CLOSE(got[i], expected[i]);
  }
}

TEST(Layers, HaveZeroWeightsWhereOnlyTheirShapesAreWanted) {
  {
    const ZeroWeights shapes_only;
    EXPECT_EQ(Conv(ConvOptions{})->weight.abs().sum().item<float>(), 0);
    EXPECT_EQ(Linear(3, 2)->weight.abs().sum().item<float>(), 0);
  }
  EXPECT_GT(Conv(ConvOptions{})->weight.abs().sum().item<float>(), 0);
  EXPECT_GT(Linear(3, 2)->weight.abs().sum().item<float>(), 0);
}

TEST(Layers, EvaluationIsExact) {
  Conv layer(ConvOptions{.in_channels = 3, .out_channels = 4, .padding = 1});
  const auto random = make_method("random");
  layer->slot = slot_with(random.get(), {Product::kWeightGradient});
  layer->eval();
  auto x = at::randn({2, 3, 5, 5});
  layer(x).sum().backward();
  EXPECT_GT(layer->weight.grad().abs().max().item<float>(), 0.5f);  // random's is around 1/128
}

// Networks apply ReLU in place, right behind a layer.
TEST(Layers, OutputsMayBeChangedInPlace) {
  const auto exact = make_method("exact");
  const auto slot =
      slot_with(exact.get(), {Product::kForward, Product::kDataGradient, Product::kWeightGradient});
  const auto changed = [&](auto layer, const at::Tensor& x) {
    layer->slot = slot;
    layer(x).relu_().sum().backward();
    EXPECT_TRUE(layer->weight.grad().defined());
  };
  for (const int64_t size : {1, 2, 9}) {
    for (const int64_t kernel : {1, 3}) {
      changed(
          Conv(ConvOptions{
              .in_channels = 130, .out_channels = 140, .kernel = kernel, .padding = kernel / 2}),
          at::randn({80, 130, size, size}));
    }
  }
  changed(Linear(6, 5), at::randn({4, 6}));
}

// Of a method that looks at dY alone, and how often it is asked to.
class AskedPruning final : public PruningMethod {
 public:
  int asked = 0;

 private:
  Plan prune(const Operands& o, const MethodCall&) override {
    ++asked;
    return counted(o.dy / (asked + 1));
  }
};

TEST(Layers, BothGradientsOfAPassGoByOneTensor) {
  AskedPruning method;
  const TestShape shape{2, 3, 5, 7, 3, 1, 1};
  const auto exact = through(shape, nullptr);
  for (const int pass : {1, 2}) {
    const auto slot = slot_with(&method, {Product::kDataGradient, Product::kWeightGradient});
    const auto got = through(shape, &slot);
    EXPECT_EQ(method.asked, pass);
    EXPECT_CLOSE(got.dx, exact.dx / (pass + 1));
    EXPECT_CLOSE(got.dw, exact.dw / (pass + 1));
  }
}

TEST(Layers, UsesAreCounted) {
  const auto topk = make_method("topk_position");
  UseCount count;
  auto slot = slot_with(topk.get(), {Product::kWeightGradient});
  slot.counts.use[static_cast<size_t>(Product::kWeightGradient)] = &count;
  through({2, 3, 5, 7, 3, 1, 1}, &slot);
  EXPECT_EQ(count.calls, 1);
  EXPECT_EQ(count.macs(), 2 * 7 * 3 * 9);  // one entry a plane, a patch of 3x3x3 each
  EXPECT_DOUBLE_EQ(count.density(), 1.0 / 25);
}

// "forward: Dense libtorch 2; ..." of the products that were computed.
std::string text_of(const LayerVariants& variants) {
  std::string text;
  for (const auto product : kAllProducts) {
    for (const auto& [plan, variant, calls] : variants.of(product).entries()) {
      text += fmt::format("{}{}: {} {} {}", text.empty() ? "" : "; ", name(product), plan, variant,
                          calls);
    }
  }
  return text;
}

TEST(Layers, CountWhatComputesTheirProducts) {
  LayerVariants variants;
  const auto step = [&variants](auto& layer, at::Tensor x) {
    layer->slot.counts.variants = &variants;
    layer(x).sum().backward();
    return text_of(std::exchange(variants, {}));
  };
  Conv small(ConvOptions{.in_channels = 3, .out_channels = 4, .padding = 1});
  const auto images = at::randn({2, 3, 5, 5});
  EXPECT_EQ(step(small, images), "forward: Dense libtorch 1; weight_gradient: Dense libtorch 1")
      << "nobody computes the gradient of images";
  EXPECT_EQ(step(small, images.clone().requires_grad_()),
            "forward: Dense libtorch 1; data_gradient: Dense libtorch 1; "
            "weight_gradient: Dense libtorch 1");
  Linear linear(6, 5);
  EXPECT_EQ(step(linear, at::randn({4, 6})),
            "forward: Dense libtorch 1; weight_gradient: Dense libtorch 1");
  // Of this layer one product is faster by a kernel of ours.
  Conv large(ConvOptions{.in_channels = 64, .out_channels = 64, .padding = 1});
  const auto maps =
      at::randn({2, 64, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  EXPECT_EQ(step(large, maps),
            "forward: Dense libtorch 1; data_gradient: Dense libtorch 1; "
            "weight_gradient: Dense packed 1");
  const auto exact = make_method("exact");
  large->slot =
      slot_with(exact.get(), {Product::kForward, Product::kDataGradient, Product::kWeightGradient});
  EXPECT_EQ(step(large, maps),
            "forward: Dense libtorch 1; data_gradient: Dense libtorch 1; "
            "weight_gradient: Dense packed 1");

  large->slot = {};
  choose_operators(*large, OperatorSet::kLibrary);
  EXPECT_EQ(step(large, maps),
            "forward: Dense libtorch 1; data_gradient: Dense libtorch 1; "
            "weight_gradient: Dense libtorch 1");

  large->eval();
  variants = {};
  large(maps);
  EXPECT_EQ(text_of(variants), "") << "evaluation is no step";
}

// Rules go by the density of a plan, which may change from step to step.
TEST(Layers, CountEachVariantOfAProductThatChangesIts) {
  Conv layer(ConvOptions{.in_channels = 64, .out_channels = 64, .padding = 1});
  const auto x =
      at::randn({2, 64, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const auto pruning = make_method("stochastic_pruning:p=0.3,placement=output");
  LayerVariants variants;
  layer->slot = slot_with(pruning.get(), {Product::kDataGradient, Product::kWeightGradient});
  layer->slot.counts.variants = &variants;
  const auto everywhere = at::ones({2, 64, 8, 8}).contiguous(at::MemoryFormat::ChannelsLast);
  auto somewhere = at::zeros_like(everywhere);
  somewhere.slice(1, 0, 6).fill_(1);
  for (const auto& dy : {everywhere, somewhere, somewhere, everywhere, somewhere}) {
    layer(x).backward(dy);
  }
  EXPECT_EQ(text_of(variants),
            "forward: Dense libtorch 5; "
            "data_gradient: PrunedDY exact 2; data_gradient: PrunedDY sparse_rows 3; "
            "weight_gradient: PrunedDY exact 2; weight_gradient: PrunedDY sparse_lists 3");
}

// Behind a pooling most of a gradient is zero: the exact training gains by that too. A norm would
// fill it, so nobody looks there.
TEST(Layers, ComputeExactGradientsOfManyZerosByTheirEntries) {
  Conv layer(ConvOptions{.in_channels = 64, .out_channels = 64, .kernel = 5, .padding = 2});
  const auto x =
      at::randn({2, 64, 9, 9}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  const auto gradient = [&] {
    layer->zero_grad();
    at::max_pool2d(layer(x), 3, 2).relu_().sum().backward();
    return layer->weight.grad().clone();
  };
  LayerVariants variants;
  layer->slot.counts.variants = &variants;
  const auto by_entries = gradient();
  EXPECT_EQ(text_of(std::exchange(variants, {})),
            "forward: Dense libtorch 1; data_gradient: Dense entries 1; "
            "weight_gradient: Dense entries 1");
  choose_operators(*layer, OperatorSet::kLibrary);
  EXPECT_CLOSE(by_entries, gradient());
  EXPECT_EQ(text_of(std::exchange(variants, {})),
            "forward: Dense libtorch 1; data_gradient: Dense libtorch 1; "
            "weight_gradient: Dense libtorch 1");
}

// Exact layers in bf16 on a CPU go by the same rules as in float.
TEST(Layers, ComputeInBf16UnderAutocastByWhatPays) {
  Conv layer(ConvOptions{.in_channels = 256, .out_channels = 256, .padding = 1});
  const auto x =
      at::randn({2, 256, 4, 4}).contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
  LayerVariants variants;
  layer->slot.counts.variants = &variants;
  const auto gradients = [&] {
    layer->zero_grad();
    x.mutable_grad() = at::Tensor();
    const Autocast autocast(Precision::kBf16, at::kCPU);
    const auto y = layer(x);
    EXPECT_EQ(y.scalar_type(), at::kBFloat16);
    y.backward(at::ones_like(y));
    return std::pair(layer->weight.grad().clone(), x.grad().clone());
  };
  const auto [dw, dx] = gradients();
  EXPECT_EQ(text_of(std::exchange(variants, {})),
            "forward: Dense libtorch 1; data_gradient: Dense libtorch 1; "
            "weight_gradient: Dense weight_taps 1");
  choose_operators(*layer, OperatorSet::kLibrary);
  const auto [library_dw, library_dx] = gradients();
  EXPECT_EQ(text_of(std::exchange(variants, {})),
            "forward: Dense libtorch 1; data_gradient: Dense libtorch 1; "
            "weight_gradient: Dense libtorch 1");
  EXPECT_EQ(dw.scalar_type(), at::kFloat);
  EXPECT_TRUE(close(dw, library_dw, 0.01));
  EXPECT_TRUE(close(dx, library_dx, 0.01));
}

TEST(Layers, GradientsAreCountedAsTheWeightGradientTakesThem) {
  Conv layer(ConvOptions{.in_channels = 3, .out_channels = 4, .padding = 1});
  GradientCount count;
  at::Tensor open;  // where the ReLU lets the gradient of ones through
  const auto nonzero = [&](Method* method, std::initializer_list<Product> products) -> int64_t {
    layer->slot = slot_with(method, products);
    layer->slot.orders.norm_follows = true;
    layer->slot.counts.gradient = &count;
    count = {};
    const auto y = layer(at::randn({2, 3, 5, 5})).relu_();
    open = y.detach() > 0;
    y.sum().backward();
    EXPECT_EQ(count.entries, 2 * 4 * 5 * 5);
    return count.nonzero.item<int64_t>();
  };
  int64_t counted = nonzero(nullptr, {});
  EXPECT_EQ(counted, open.sum().item<int64_t>());
  const auto zero = make_method("zero");
  counted = nonzero(zero.get(), {Product::kDataGradient});
  EXPECT_EQ(counted, open.sum().item<int64_t>());
  const auto position = make_method("topk_position");
  counted = nonzero(position.get(), {Product::kWeightGradient});
  EXPECT_EQ(counted, open.flatten(2).any(2).sum().item<int64_t>());
  const auto pruning = make_method("meprop:k=7");
  EXPECT_EQ(nonzero(pruning.get(), {Product::kDataGradient, Product::kWeightGradient}), 2 * 7);

  layer->eval();
  count = {};
  layer(at::randn({2, 3, 5, 5})).sum().backward();
  EXPECT_FALSE(count.nonzero.defined());
}

}  // namespace
}  // namespace approx
