#include "core/network.h"

#include <torch/torch.h>

#include "core/library_catalogue.h"
#include "core/spec/schedule.h"
#include "tests/testing.h"

namespace approx {
namespace {

NetworkInfo info_of(const std::string& name) {
  return describe(Registry<NetworkEntry>::instance().find(name));
}

int64_t convolutions(const NetworkInfo& info) {
  int64_t count = 0;
  for (const auto& layer : info.layers) count += layer.is_conv();
  return count;
}

// He et al. 2016, Table 6: ResNet-20 has 0.27 M parameters. Counted: 268,336 in convolutions,
// 2 x 688 in batch norms... and 650 in the classifier.
TEST(Networks, HaveThePublishedSizes) {
  const auto resnet20 = info_of("resnet20");
  EXPECT_EQ(resnet20.parameters, 269722);
  EXPECT_EQ(convolutions(resnet20), 19);
  EXPECT_EQ(convolutions(info_of("resnet14")), 13);
  EXPECT_EQ(info_of("resnet14").parameters, 172506);
  EXPECT_EQ(convolutions(info_of("vgg19")), 16);
  EXPECT_EQ(info_of("vgg19").parameters, 20035018);
  EXPECT_EQ(convolutions(info_of("wang_cnn2")), 2);
  EXPECT_EQ(convolutions(info_of("small_cnn")), 3);
}

// By hand, from the layers: what the MNIST networks of Adelman et al. 2021 weigh is not published.
TEST(Networks, OfMnistHaveTheSizesOfTheirLayers) {
  const auto mlp = info_of("mnist_mlp");
  EXPECT_EQ(mlp.parameters, 785 * 500 + 501 * 500 + 501 * 10);
  EXPECT_EQ(mlp.macs, 784 * 500 + 500 * 500 + 500 * 10);
  EXPECT_EQ(convolutions(mlp), 0);
  const auto cnn = info_of("mnist_cnn");
  EXPECT_EQ(cnn.parameters, 26 * 32 + (32 * 25 + 1) * 64 + (7 * 7 * 64 + 1) * 1024 + 1025 * 10);
  EXPECT_EQ(convolutions(cnn), 2);
  EXPECT_EQ(cnn.layers.size(), 4u);
}

// Dropout leaves units out in training, and nothing in evaluation.
TEST(Networks, OfMnistDropOutInTrainingOnly) {
  for (const std::string name : {"mnist_mlp", "mnist_cnn"}) {
    SCOPED_TRACE(name);
    const auto network = make_network(name, {1, 28, 10}, 0);
    const auto x = at::randn({2, 1, 28, 28});
    EXPECT_FALSE(at::allclose(network->forward(x), network->forward(x)));
    network->eval();
    EXPECT_TRUE(at::equal(network->forward(x), network->forward(x)));
    const auto without = make_network(name + ":dropout=0", {1, 28, 10}, 0);
    EXPECT_TRUE(at::equal(network->forward(x), without->forward(x)));
  }
}

TEST(Networks, MacsAreThoseOfTheForwardPass) {
  const auto info = info_of("resnet20");
  EXPECT_EQ(info.layers[0].macs, 32 * 32 * 16 * 3 * 9);
  EXPECT_EQ(info.layers[1].macs, 32 * 32 * 16 * 16 * 9);
  EXPECT_NEAR(static_cast<double>(info.macs), 40.55e6, 0.01e6);
}

TEST(Networks, LayersComeInTheOrderOfTheForwardPass) {
  for (const auto* entry : Registry<NetworkEntry>::instance().all()) {
    SCOPED_TRACE(entry->name);
    const auto info = describe(*entry);
    int64_t conv = 0, linear = 0;
    for (const auto& layer : info.layers) {
      EXPECT_EQ(layer.index, layer.is_conv() ? ++conv : ++linear) << layer.name;
      EXPECT_FALSE(layer.name.empty());
    }
    EXPECT_EQ(info.layers.back().kind, "linear");
    EXPECT_FALSE(info.summary.empty());
  }
}

// Wang et al. 2019, section 3: "four approximated layers for VGG-19 and five for ResNet-20".
TEST(Networks, Schedule1TouchesAsManyLayersAsInThePaper) {
  for (const auto& [name, expected] : {std::pair{"resnet20", 5}, std::pair{"vgg19", 4}}) {
    const auto info = info_of(name);
    const Schedule schedule(make_schedule("wang2019_s1"), info.layers, "zero", library_methods(),
                            10, 100);
    int64_t touched = 0;
    for (size_t i = 0; i < info.layers.size(); ++i) touched += !schedule.at(i, 0).dense();
    EXPECT_EQ(touched, expected) << name;
  }
}

TEST(Networks, KnowWhichLayersABatchNormFollows) {
  const auto followed = [](const std::string& name) {
    std::string letters;
    for (const auto& layer : info_of(name).layers) letters += layer.norm_follows ? 'n' : '.';
    return letters;
  };
  EXPECT_EQ(followed("resnet20"), fmt::format("{:n>19}.", ""));
  EXPECT_EQ(followed("wang_cnn2").substr(0, 2), "nn");
  EXPECT_EQ(followed("vgg19").substr(0, 16), std::string(16, 'n'));
}

TEST(Networks, EqualSeedsGiveEqualWeights) {
  const auto a = make_network("resnet14", {}, 3), b = make_network("resnet14", {}, 3),
             c = make_network("resnet14", {}, 4);
  const auto first = [](const auto& network) { return network->parameters()[0]; };
  EXPECT_TRUE(at::equal(first(a), first(b)));
  EXPECT_FALSE(at::equal(first(a), first(c)));
}

TEST(Networks, RefuseImagesThatTheirPoolingWouldSwallow) {
  EXPECT_THROW(make_network("vgg19", {1, 14, 10}, 0), Error);
  EXPECT_THROW(make_network("resnet21", {}, 0), Error);
}

TEST(Networks, EveryOneTrainsAStepUnderEveryMethod) {
  for (const auto* entry : Registry<NetworkEntry>::instance().all()) {
    const auto network = make_network(entry->name, entry->input, 0);
    const auto x = at::randn({2, entry->input.channels, entry->input.size, entry->input.size})
                       .contiguous(at::MemoryFormat::ChannelsLast);
    for (const auto* method_entry : Registry<MethodEntry>::instance().all()) {
      SCOPED_TRACE(entry->name + " " + method_entry->name);
      const auto method = make_method(method_entry->name);
      for (auto* layer : network->layers()) {
        for (const auto product : method_entry->products) {
          layer->slot.use[static_cast<size_t>(product)] = {method.get(), nullptr};
        }
      }
      network->zero_grad();
      network->forward(x).logsumexp(1).sum().backward();
      for (const auto& item : network->named_parameters()) {
        ASSERT_TRUE(item.value().grad().defined()) << item.key();
        ASSERT_TRUE(item.value().grad().isfinite().all().item<bool>()) << item.key();
      }
      for (auto* layer : network->layers()) layer->slot = {};
    }
  }
}

}  // namespace
}  // namespace approx
