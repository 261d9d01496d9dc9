// Residual branches without a backward pass, against networks in plain operators whose branch
// outputs are detached, in double precision.
#include <torch/torch.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "core/networks/network.h"
#include "core/nn/phases.h"
#include "tests/testing.h"

namespace approx {
namespace {

// The parameters of a network in double, and the layers that use them.
class PlainNetwork {
 public:
  PlainNetwork(Network& network, std::set<std::string> stopped, double scale)
      : stopped_(std::move(stopped)), scale_(scale) {
    const auto take = [this](const std::string& name, const at::Tensor& tensor, bool trains) {
      of_[name] = tensor.detach().to(at::kDouble).set_requires_grad(trains);
    };
    for (const auto& item : network.named_parameters()) {
      take(item.key(), item.value(), item.value().requires_grad());
    }
    for (const auto& item : network.named_buffers()) take(item.key(), item.value(), false);
  }

  const std::map<std::string, at::Tensor>& tensors() const { return of_; }

  at::Tensor conv(const std::string& name, const at::Tensor& x, int64_t stride = 1,
                  int64_t groups = 1) const {
    const auto& w = of_.at(name + ".weight");
    return at::conv2d(x, w, {}, stride, /*padding=*/w.size(2) / 2, /*dilation=*/1, groups);
  }
  at::Tensor norm(const std::string& name, const at::Tensor& x, double epsilon = 1e-5) const {
    return at::batch_norm(x, of_.at(name + ".weight"), of_.at(name + ".bias"), {}, {},
                          /*training=*/true, 0.1, epsilon, /*cudnn_enabled=*/false);
  }
  at::Tensor conv_norm(const std::string& name, const at::Tensor& x, int64_t stride = 1,
                       int64_t groups = 1) const {
    return norm(name + "_norm", conv(name, x, stride, groups));
  }
  at::Tensor linear(const at::Tensor& x) const {
    const auto bias = of_.find("linear.bias");
    return at::linear(x, of_.at("linear.weight"), bias == of_.end() ? at::Tensor() : bias->second);
  }
  // The output of a block, whose gradient has the factors of `of_examples`, [N], if there are any.
  at::Tensor sum(at::Tensor y) const {
    if (of_examples.defined()) {
      y.register_hook([factor = of_examples.view({-1, 1, 1, 1})](const at::Tensor& gradient) {
        return gradient * factor;
      });
    }
    return y;
  }
  at::Tensor of_examples;

  bool has(const std::string& name) const { return of_.contains(name + ".weight"); }

  // The output of a block's branch, as it goes into the sum.
  at::Tensor branch(const std::string& block, const at::Tensor& y) const {
    if (stopped_.contains(block)) return y.detach();
    return y.detach() + scale_ * (y - y.detach());
  }

 private:
  std::map<std::string, at::Tensor> of_;
  std::set<std::string> stopped_;
  double scale_;
};

using PlainForward = std::function<at::Tensor(const PlainNetwork&, at::Tensor)>;

std::string branch_name(int64_t stage, int64_t block) {
  return fmt::format("stage{}_block{}", stage, block);
}

// "resnet14": parameter-free shortcuts.
at::Tensor plain_resnet14(const PlainNetwork& p, at::Tensor x) {
  x = at::relu(p.norm("norm", p.conv("stem", x)));
  for (int64_t stage = 1; stage <= 3; ++stage) {
    for (int64_t block = 1; block <= 2; ++block) {
      const auto name = branch_name(stage, block);
      const int64_t stride = stage > 1 && block == 1 ? 2 : 1;
      const auto inner = at::relu(p.norm(name + ".norm1", p.conv(name + ".conv1", x, stride)));
      const auto y = p.norm(name + ".norm2", p.conv(name + ".conv2", inner));
      auto shortcut = x.slice(2, 0, c10::nullopt, stride).slice(3, 0, c10::nullopt, stride);
      const int64_t more = y.size(1) - x.size(1);
      shortcut = at::constant_pad_nd(shortcut, {0, 0, 0, 0, more / 2, more - more / 2});
      x = p.sum(at::relu(p.branch(name, y) + shortcut));
    }
  }
  return p.linear(x.mean({2, 3}));
}

// Blocks of `convolutions`, as in resnet.cpp and regnetx.cpp.
at::Tensor plain_projected(const PlainNetwork& p, at::Tensor x, const std::vector<int64_t>& depths,
                           bool stride_first, int64_t stem_stride, int64_t of_group) {
  x = at::relu(p.conv_norm("stem", x, stem_stride));
  for (size_t s = 0; s < depths.size(); ++s) {
    for (int64_t block = 1; block <= depths[s]; ++block) {
      const auto name = branch_name(static_cast<int64_t>(s) + 1, block);
      const int64_t stride = block == 1 && (s > 0 || stride_first) ? 2 : 1;
      at::Tensor y;
      if (p.has(name + ".conv3")) {
        y = at::relu(p.conv_norm(name + ".conv1", x));
        const int64_t groups = of_group == 0 ? 1 : y.size(1) / of_group;
        y = at::relu(p.conv_norm(name + ".conv2", y, stride, groups));
        y = p.conv_norm(name + ".conv3", y);
      } else {
        y = at::relu(p.conv_norm(name + ".conv1", x, stride));
        y = p.conv_norm(name + ".conv2", y);
      }
      const auto shortcut =
          p.has(name + ".shortcut") ? p.conv_norm(name + ".shortcut", x, stride) : x;
      x = p.sum(at::relu(p.branch(name, y) + shortcut));
    }
  }
  return p.linear(x.mean({2, 3}));
}

at::Tensor plain_resnet18(const PlainNetwork& p, at::Tensor x) {
  return plain_projected(p, std::move(x), {2, 2, 2, 2}, false, 1, 0);
}

at::Tensor plain_regnetx(const PlainNetwork& p, at::Tensor x) {
  return plain_projected(p, std::move(x), {1, 2, 7, 12}, true, 2, 16);
}

// Where the shortcut is the identity, the first norm is a part of the branch.
at::Tensor plain_wide_resnet(const PlainNetwork& p, at::Tensor x) {
  x = p.conv("stem", x);
  for (int64_t stage = 1; stage <= 3; ++stage) {
    for (int64_t block = 1; block <= 2; ++block) {
      const auto name = branch_name(stage, block);
      const int64_t stride = stage > 1 && block == 1 ? 2 : 1;
      const auto active = at::relu(p.norm(name + ".norm1", x));
      const auto inner = at::relu(p.norm(name + ".norm2", p.conv(name + ".conv1", active, stride)));
      const auto y = p.conv(name + ".conv2", inner);
      const bool projects = p.has(name + ".shortcut");
      x = p.sum(p.branch(name, y) + (projects ? p.conv(name + ".shortcut", active, stride) : x));
    }
  }
  return p.linear(at::relu(p.norm("norm", x)).mean({2, 3}));
}

at::Tensor plain_resnet9(const PlainNetwork& p, at::Tensor x) {
  const auto relu = [&](const char* name, const at::Tensor& in, int64_t stride = 1) {
    return at::relu(p.conv_norm(name, in, stride));
  };
  x = relu("conv2", relu("conv1", x), 2);
  x = p.sum(p.branch("block1", relu("block1_conv2", relu("block1_conv1", x))) + x);
  x = at::max_pool2d(relu("conv3", x), 2);
  x = p.sum(p.branch("block2", relu("block2_conv2", relu("block2_conv1", x))) + x);
  const auto& w = p.tensors().at("conv4.weight");
  x = at::relu(p.norm("conv4_norm", at::conv2d(x, w)));
  return p.linear(x.amax({2, 3})) * 0.2;
}

at::Tensor plain_resnet9_celu(const PlainNetwork& p, at::Tensor x) {
  const auto celu = [&](const std::string& name, const at::Tensor& in, bool pool = false) {
    const auto y = p.conv(name, in);
    return at::celu(p.norm(name + "_norm", pool ? at::max_pool2d(y, 2) : y), 0.3);
  };
  x = celu("prep", p.conv("whiten", x));
  x = celu("layer1", x, true);
  x = p.sum(p.branch("layer1_res", celu("layer1_res2", celu("layer1_res1", x))) + x);
  x = celu("layer3", celu("layer2", x, true), true);
  x = p.sum(p.branch("layer3_res", celu("layer3_res2", celu("layer3_res1", x))) + x);
  return p.linear(at::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1)) / 16;
}

at::Tensor plain_airbench(const PlainNetwork& p, at::Tensor x) {
  const auto& whiten = p.tensors().at("whiten.weight");
  x = at::gelu(at::conv2d(x, whiten, p.tensors().at("whiten.bias")));
  for (const auto* group : {"group1", "group2", "group3"}) {
    const auto name = [group](const char* part) { return fmt::format("{}.{}", group, part); };
    const auto norm = [&](const char* part, const at::Tensor& in) {
      return p.norm(name(part), in, 1e-12);
    };
    x = at::gelu(norm("norm1", at::max_pool2d(p.conv(name("conv1"), x), 2)));
    const auto second = at::gelu(norm("norm2", p.conv(name("conv2"), x)));
    x = p.sum(at::gelu(p.branch(group, norm("norm3", p.conv(name("conv3"), second))) + x));
  }
  return p.linear(at::max_pool2d(x, {x.size(2), x.size(3)}).flatten(1)) / 9;
}

struct BranchCase {
  const char* text;
  PlainForward forward;
  int64_t size;

  friend std::ostream& operator<<(std::ostream& out, const BranchCase& c) { return out << c.text; }
};

const std::vector<BranchCase>& branch_cases() {
  static const std::vector<BranchCase> all = {
      {"resnet14", plain_resnet14, 16},
      {"resnet18:form=cifar", plain_resnet18, 32},
      {"regnetx_400mf", plain_regnetx, 64},
      {"wide_resnet:depth=16,width=1", plain_wide_resnet, 16},
      {"resnet9:width=8", plain_resnet9, 16},
      {"resnet9_celu:width=8", plain_resnet9_celu, 32},
      {"airbench:form=96,width=0.1", plain_airbench, 32}};
  return all;
}

// The relative relative_distance of two gradients.
double relative_distance(const at::Tensor& found, const at::Tensor& wanted) {
  const auto other = found.to(at::kDouble);
  return ((other - wanted).norm() / (wanted.norm() + 1e-12)).item<double>();
}

class Branches : public testing::TestWithParam<BranchCase> {
 protected:
  // A network in training mode whose weights are drawn, norms' too.
  std::shared_ptr<Network> made() const {
    const auto network = make_network(GetParam().text, {3, GetParam().size, 10}, /*seed=*/2);
    const at::NoGradGuard no_grad;
    for (const auto& item : network->named_parameters()) {
      if (item.value().dim() == 1) item.value().add_(at::randn_like(item.value()), 0.2);
    }
    network->train();
    return network;
  }
  at::Tensor images() const {
    at::manual_seed(3);
    return at::randn({8, 3, GetParam().size, GetParam().size})
        .contiguous(at::MemoryFormat::ChannelsLast);
  }
  static at::Tensor loss_of(const at::Tensor& logits) {
    return at::cross_entropy_loss(logits, at::arange(8, at::kLong));
  }

  // Every second branch is stopped, beginning with the `first`.
  static std::set<std::string> stop(Network& network, size_t first, double scale) {
    std::set<std::string> stopped;
    const auto branches = network.branches();
    for (size_t i = 0; i < branches.size(); ++i) {
      const bool stops = i % 2 == first;
      branches[i]->orders = {.stopped = stops, .scale = stops ? 1 : scale};
      if (stops) stopped.insert(branches[i]->block);
    }
    return stopped;
  }
};

// In double by LibTorch's operators (alpha of CELU is a float), and in float by ours, where a ReLU
// may fall on the other side.
TEST_P(Branches, HaveTheGradientsOfADetachedOutput) {
  for (const bool best : {true, false}) {
    for (const size_t first : {0, 1}) {
      for (const double scale : {1.0, 2.0}) {
        const auto network = made();
        choose_operators(*network, best ? OperatorSet::kBest : OperatorSet::kLibrary);
        const auto type = best ? at::kFloat : at::kDouble;
        network->to(type);
        const auto stopped = stop(*network, first, scale);
        ASSERT_FALSE(stopped.empty());
        const auto x = images();
        const PlainNetwork plain(*network, stopped, scale);
        const auto loss = loss_of(network->forward(x.to(type)));
        loss.backward();
        const auto wanted = loss_of(GetParam().forward(plain, x.to(at::kDouble)));
        EXPECT_NEAR(loss.item<double>(), wanted.item<double>(), best ? 1e-3 : 1e-6);
        wanted.backward();
        for (const auto& item : network->named_parameters()) {
          SCOPED_TRACE(fmt::format("{} best={} first={} scale={}", item.key(), best, first, scale));
          const auto& gradient = plain.tensors().at(item.key()).grad();
          ASSERT_EQ(item.value().grad().defined(), gradient.defined());
          if (gradient.defined()) {
            EXPECT_LT(relative_distance(item.value().grad(), gradient), best ? 0.1 : 1e-6);
          }
        }
      }
    }
  }
}

// Bit for bit, but for a sum before a GELU.
TEST_P(Branches, LeaveTheForwardPassAsItIs) {
  const auto network = made(), twin = made();
  stop(*network, 0, 2);
  const auto found = network->forward(images()), wanted = twin->forward(images());
  if (std::string(GetParam().text).starts_with("airbench")) {
    EXPECT_TRUE(close(found, wanted, 1e-4));
  } else {
    EXPECT_TRUE(at::equal(found, wanted));
  }
  for (const auto& item : network->named_buffers()) {
    EXPECT_TRUE(close(item.value(), *twin->named_buffers().find(item.key()), 1e-4)) << item.key();
  }
}

TEST_P(Branches, AreWholeInEvaluation) {
  const auto network = made(), twin = made();
  stop(*network, 0, 2);
  for (auto* branch : network->branches()) branch->orders = {.stopped = true};
  network->eval();
  twin->eval();
  loss_of(network->forward(images())).backward();
  loss_of(twin->forward(images())).backward();
  for (const auto& item : network->named_parameters()) {
    const auto& wanted = twin->named_parameters().find(item.key())->grad();
    ASSERT_EQ(item.value().grad().defined(), wanted.defined()) << item.key();
    if (wanted.defined()) {
      EXPECT_TRUE(at::equal(item.value().grad(), wanted)) << item.key();
    }
  }
}

// Samples the same examples of every block, and of no layer by itself.
class SomeExamples final : public Method {
 public:
  Plan plan(const Operands& o, const MethodCall& call) override {
    if (o.w.defined()) return Dense{};
    EXPECT_EQ(o.product, Product::kDataGradient);
    EXPECT_NE(call.rng.stream, 0u) << "a stream of its own";
    ++blocks;
    return Sampled{.axis = Axis::kExamples,
                   .index = at::tensor({1, 2, 4, 7}, at::kLong),
                   .scale = at::tensor({2.0F, 0.5F, 1.0F, 3.0F})};
  }
  bool samples_blocks() const override { return true; }

  int64_t blocks = 0;
};

// The gradient of a block's output is sampled before it enters branch and shortcut.
TEST_P(Branches, HaveASampledGradientOfTheirSum) {
  for (const bool best : {true, false}) {
    const auto network = made();
    choose_operators(*network, best ? OperatorSet::kBest : OperatorSet::kLibrary);
    const auto type = best ? at::kFloat : at::kDouble;
    network->to(type);
    SomeExamples method;
    for (auto* branch : network->branches()) {
      auto& methods = branch->layers().back()->slot.orders.methods;
      methods[static_cast<size_t>(Product::kDataGradient)] = &method;
    }
    const auto x = images();
    PlainNetwork plain(*network, {}, 1);
    plain.of_examples = at::tensor({0, 2, 0, 0, 0, 0, 0, 0}, at::kDouble);
    plain.of_examples[2] = 0.5, plain.of_examples[4] = 1, plain.of_examples[7] = 3;
    loss_of(network->forward(x.to(type))).backward();
    EXPECT_EQ(method.blocks, static_cast<int64_t>(network->branches().size()));
    loss_of(GetParam().forward(plain, x.to(at::kDouble))).backward();
    for (const auto& item : network->named_parameters()) {
      SCOPED_TRACE(fmt::format("{} best={}", item.key(), best));
      const auto& gradient = plain.tensors().at(item.key()).grad();
      ASSERT_EQ(item.value().grad().defined(), gradient.defined());
      if (gradient.defined()) {
        EXPECT_LT(relative_distance(item.value().grad(), gradient), best ? 0.1 : 1e-6);
      }
    }
    // In evaluation nothing is sampled.
    network->eval();
    method.blocks = 0;
    loss_of(network->forward(x.to(type))).backward();
    EXPECT_EQ(method.blocks, 0);
  }
}

// The examples that have a gradient at the output of the first layer.
int64_t examples_at_the_stem(const std::string& text, const std::string& name, int64_t size) {
  const auto network = make_network(name, {3, size, 10}, /*seed=*/2);
  network->train();
  const auto method = make_method(text);
  const auto layers = network->layers();
  for (auto* layer : layers) {
    if (!layer->info.is_conv()) continue;  // whose sample all blocks would have
    layer->slot.orders.seed = 4;
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      layer->slot.orders.methods[static_cast<size_t>(product)] = method.get();
    }
  }
  layers.front()->probing = true;
  at::manual_seed(3);
  const auto x = at::randn({32, 3, size, size}).contiguous(at::MemoryFormat::ChannelsLast);
  at::cross_entropy_loss(network->forward(x), at::arange(32, at::kLong).remainder(10)).backward();
  const auto& dy = layers.front()->probe.dy;
  return dy.ne(0).flatten(1).any(1).sum().item<int64_t>();
}

// Which examples have a gradient at the first layer of a residual network: a sample of them where
// blocks are sampled and norms drop, and else all.
TEST(SampledBlocks, HandTheirExamplesDown) {
  for (const auto& [name, size] :
       std::vector<std::pair<std::string, int64_t>>{{"resnet14", 16},
                                                    {"resnet18:form=cifar", 16},
                                                    {"wide_resnet:depth=16,width=1", 16},
                                                    {"resnet9:width=8", 16}}) {
    SCOPED_TRACE(name);
    const auto dropped = examples_at_the_stem("vcas:ratio=0.25,norm=drop", name, size);
    EXPECT_GT(dropped, 0);
    EXPECT_LT(dropped, 20);
    EXPECT_EQ(examples_at_the_stem("vcas:ratio=0.25", name, size), 32);
  }
  EXPECT_EQ(examples_at_the_stem("vcas:ratio=0.25,norm=drop,blocks=false", "resnet14", 16), 32);
}

// The nodes of a graph by their names.
std::map<std::string, int64_t> graph_nodes(const at::Tensor& tensor) {
  std::map<std::string, int64_t> counts;
  std::set<torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open = {tensor.grad_fn().get()};
  while (!open.empty()) {
    auto* node = open.back();
    open.pop_back();
    if (node == nullptr || !seen.insert(node).second) continue;
    ++counts[node->name()];
    for (const auto& edge : node->next_edges()) open.push_back(edge.function.get());
  }
  return counts;
}

// Nothing of a stopped branch is in the graph: no product, no norm, no ReLU, no parameter.
TEST(StoppedBranches, AreNotInTheGraph) {
  const auto network = make_network("resnet18:form=cifar", {3, 32, 10}, /*seed=*/1);
  network->train();
  const auto x = at::randn({2, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto products = [](const std::map<std::string, int64_t>& nodes) {
    int64_t count = 0;
    for (const auto& [name, times] : nodes) {
      if (name.find("Conv") != std::string::npos) count += times;
    }
    return count;
  };
  const auto norms = [](std::map<std::string, int64_t> nodes) {
    return nodes["FusedBatchNormBackward"];
  };
  const auto all = graph_nodes(network->forward(x));
  EXPECT_EQ(products(all), 20);
  EXPECT_EQ(norms(all), 20);
  for (auto* branch : network->branches()) branch->orders = {.stopped = true};
  auto rest = graph_nodes(network->forward(x));
  EXPECT_EQ(products(rest), 4) << "the stem, and three shortcuts";
  EXPECT_EQ(norms(rest), 4);
  EXPECT_EQ(rest["StoppedReluBackward"], 8);
  EXPECT_EQ(rest["torch::autograd::AccumulateGrad"], 4 + 2 * 4 + 2);
  for (auto* branch : network->branches()) branch->orders = {};
  EXPECT_EQ(graph_nodes(network->forward(x)), all) << "nothing is left behind";
}

// The counters of products, and the clock of norms.
TEST(StoppedBranches, HaveNoGradientsToCompute) {
  const auto network = make_network("resnet14", {3, 32, 10}, /*seed=*/1);
  network->train();
  const auto layers = network->layers();
  std::vector<LayerVariants> counts(layers.size());
  for (size_t i = 0; i < layers.size(); ++i) layers[i]->slot.counts.variants = &counts[i];
  network->branches()[1]->orders = {.stopped = true};
  at::cross_entropy_loss(network->forward(at::randn({2, 3, 32, 32})), at::arange(2, at::kLong))
      .backward();
  const auto calls = [&](size_t layer, Product product) {
    int64_t sum = 0;
    for (const auto& entry : counts[layer].of(product).entries()) sum += entry.calls;
    return sum;
  };
  for (size_t i = 0; i < layers.size(); ++i) {
    SCOPED_TRACE(layers[i]->info.name);
    const bool stopped = layers[i]->info.block == "stage1_block2";
    EXPECT_EQ(calls(i, Product::kForward), 1);
    EXPECT_EQ(calls(i, Product::kDataGradient), stopped || i == 0 ? 0 : 1);
    EXPECT_EQ(calls(i, Product::kWeightGradient), stopped ? 0 : 1);
  }
}

// Every residual network names its blocks, and no other network has one.
TEST(StoppedBranches, AreNamedByTheNetworks) {
  const std::map<std::string, size_t> blocks = {
      {"resnet14", 6},  {"resnet20", 9},     {"resnet18", 8},    {"resnet34", 16},
      {"resnet50", 16}, {"resnet101", 33},   {"resnet152", 50},  {"regnetx_400mf", 22},
      {"resnet9", 2},   {"resnet9_celu", 2}, {"wide_resnet", 12}};
  const ZeroWeights shapes_only;
  for (const auto* entry : Registry<NetworkEntry>::instance().all()) {
    const auto network = make_network(entry->name, entry->input, 0);
    std::set<std::string> names;
    for (const auto& layer : network->layers()) {
      if (!layer->info.block.empty()) names.insert(layer->info.block);
    }
    const auto found = blocks.find(entry->name);
    EXPECT_EQ(names.size(), found == blocks.end() ? 0 : found->second) << entry->name;
    EXPECT_EQ(network->branches().size(), names.size()) << entry->name;
    for (const auto& layer : network->layers()) {
      EXPECT_EQ(
          layer->info.name.find("shortcut") != std::string::npos && !layer->info.block.empty(),
          false)
          << layer->info.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Of, Branches, testing::ValuesIn(branch_cases()), [](const auto& info) {
  const std::string text = info.param.text;
  return text.substr(0, text.find(':'));
});

}  // namespace
}  // namespace approx
