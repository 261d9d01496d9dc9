#include "core/networks/network.h"

#include <torch/torch.h>

#include <cmath>
#include <map>

#include "core/config/named_schedule.h"
#include "core/config/schedule.h"
#include "core/methods/method.h"
#include "tests/testing.h"

namespace approx {
namespace {

// Described once: the large ones take a second.
const NetworkInfo& info_of(const std::string& name) {
  static std::map<std::string, NetworkInfo> infos;
  const auto found = infos.find(name);
  if (found != infos.end()) return found->second;
  return infos[name] = describe(Registry<NetworkEntry>::instance().find(name));
}

int64_t convolutions(const NetworkInfo& info) {
  int64_t count = 0;
  for (const auto& layer : info.layers) count += layer.is_conv();
  return count;
}

int64_t parameters_of(const std::string& text, const NetworkInput& input) {
  const ZeroWeights shapes_only;
  int64_t count = 0;
  for (const auto& parameter : make_network(text, input, 0)->parameters())
    count += parameter.numel();
  return count;
}

// He et al. 2016, Table 6: ResNet-20 has 0.27 M parameters. Counted: 268,336 in convolutions,
// 2 x 688 in batch norms... and 650 in the classifier.
TEST(Networks, HaveThePublishedSizes) {
  const auto& resnet20 = info_of("resnet20");
  EXPECT_EQ(resnet20.parameters, 269722);
  EXPECT_EQ(convolutions(resnet20), 19);
  EXPECT_EQ(convolutions(info_of("resnet14")), 13);
  EXPECT_EQ(info_of("resnet14").parameters, 172506);
  EXPECT_EQ(convolutions(info_of("vgg19")), 16);
  EXPECT_EQ(info_of("vgg19").parameters, 20035018);
  EXPECT_EQ(convolutions(info_of("wang_cnn2")), 2);
  EXPECT_EQ(convolutions(info_of("small_cnn")), 3);
}

// Parameters and billions of multiply-accumulates as torchvision documents its models.
// Convolutions: the layers that a name counts, less the linear one, and the projections.
TEST(Networks, ForPhotographsHaveTheSizesOfTorchvision) {
  const struct {
    std::string name;
    int64_t parameters;
    double gigamacs;
    int64_t convolutions, linears;
  } published[] = {{"resnet18", 11689512, 1.81, 17 + 3, 1},
                   {"resnet34", 21797672, 3.66, 33 + 3, 1},
                   {"resnet50", 25557032, 4.09, 49 + 4, 1},
                   {"resnet101", 44549160, 7.80, 100 + 4, 1},
                   {"resnet152", 60192808, 11.51, 151 + 4, 1},
                   {"alexnet", 61100840, 0.71, 5, 3},
                   {"regnetx_400mf", 5495976, 0.41, 1 + 3 * 22 + 4, 1}};
  for (const auto& [name, parameters, gigamacs, convs, linears] : published) {
    SCOPED_TRACE(name);
    const auto& info = info_of(name);
    EXPECT_EQ(info.parameters, parameters);
    EXPECT_NEAR(static_cast<double>(info.macs) * 1e-9, gigamacs, 0.0051);
    EXPECT_EQ(convolutions(info), convs);
    EXPECT_EQ(static_cast<int64_t>(info.layers.size()), convs + linears);
  }
}

// Zagoruyko & Komodakis 2016, Table 4: 36.5 M for WRN-28-10, 8.9 M for WRN-40-4, 11.0 M for
// WRN-16-8.
TEST(Networks, WideResNetsHaveThePublishedSizes) {
  const auto& info = info_of("wide_resnet");
  EXPECT_EQ(info.parameters, 36479194);
  EXPECT_EQ(convolutions(info), 25 + 3);
  const auto millions = [](const std::string& text) {
    return static_cast<double>(parameters_of(text, {})) * 1e-6;
  };
  EXPECT_NEAR(millions("wide_resnet:depth=40,width=4"), 8.9, 0.05);
  EXPECT_NEAR(millions("wide_resnet:depth=16,width=8"), 11.0, 0.05);
  EXPECT_THROW(make_network("wide_resnet:depth=20", {}, 0), Error);
}

// By hand, from the layers and norms.
TEST(Networks, ResNet9HasTheSizeOfItsLayers) {
  const auto& info = info_of("resnet9");
  const int64_t weights =
      int64_t{9} * (3 * 64 + 2 * 128 * 128 + 128 * 256 + 2 * 256 * 256 + 256 * 128) +
      25 * 64 * 128 + 128 * 10;
  EXPECT_EQ(info.parameters, weights + 2 * (64 + 4 * 128 + 3 * 256));
  EXPECT_EQ(convolutions(info), 8);
  EXPECT_EQ(info.layers.size(), 9u);
}

// Ye et al. 2020, section 6.1. The stem of the ResNets shrinks from 7x7 to 3x3; the linear layers
// of AlexNet are 4096x2048, 2048x2048 and 2048 x classes.
TEST(Networks, OfTheCifarFormHaveTheSizesOfTheirPaper) {
  const NetworkInput cifar{3, 32, 10};
  EXPECT_EQ(parameters_of("resnet18:form=cifar", cifar), 11689512 - 3 * 64 * (49 - 9) - 513 * 990);
  EXPECT_EQ(parameters_of("resnet152:form=cifar", cifar),
            60192808 - 3 * 64 * (49 - 9) - 2049 * 990);
  const auto alexnet = make_network("alexnet:form=cifar", cifar, 0);
  const auto layers = layer_infos(*alexnet, cifar);
  std::vector<int64_t> sizes, features;
  for (const auto& layer : layers) {
    if (layer.is_conv()) sizes.push_back(layer.out_size);
    if (!layer.is_conv()) features.push_back(layer.in_channels);
  }
  EXPECT_EQ(sizes, (std::vector<int64_t>{34, 19, 9, 9, 9}));
  EXPECT_EQ(features, (std::vector<int64_t>{4096, 2048, 2048}));
  EXPECT_THROW(make_network("alexnet", cifar, 0), Error) << "the other form";

  const auto resnet = make_network("resnet18:form=cifar", cifar, 0);
  EXPECT_EQ(layer_infos(*resnet, cifar).at(19).out_size, 4);  // what is averaged
}

// Radosavovic et al. 2020, section 3.3: the widths w_0 + w_a j are rounded to powers of w_m times
// w_0, then to multiples of 8, those of a stage to multiples of the group width.
TEST(Networks, RegNetHasTheWidthsOfThePapersRule) {
  std::vector<int64_t> expected;
  for (int j = 0; j < 22; ++j) {
    const double power = std::round(std::log((24 + 24.48 * j) / 24) / std::log(2.54));
    const double width = std::round(24 * std::pow(2.54, power) / 8) * 8;
    expected.push_back(static_cast<int64_t>(std::round(width / 16)) * 16);
  }
  std::vector<int64_t> widths;
  for (const auto& layer : info_of("regnetx_400mf").layers) {
    if (layer.kernel != 3 || layer.name == "stem") continue;
    widths.push_back(layer.out_channels);
    EXPECT_EQ(layer.out_channels / layer.groups, 16);
  }
  EXPECT_EQ(widths, expected);
}

// By hand, from the layers: what the MNIST networks of Adelman et al. 2021 weigh is not published.
TEST(Networks, OfMnistHaveTheSizesOfTheirLayers) {
  const auto& mlp = info_of("mnist_mlp");
  EXPECT_EQ(mlp.parameters, 785 * 500 + 501 * 500 + 501 * 10);
  EXPECT_EQ(mlp.macs, 784 * 500 + 500 * 500 + 500 * 10);
  EXPECT_EQ(convolutions(mlp), 0);
  const auto& cnn = info_of("mnist_cnn");
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
  const auto& info = info_of("resnet20");
  EXPECT_EQ(info.layers[0].macs, 32 * 32 * 16 * 3 * 9);
  EXPECT_EQ(info.layers[1].macs, 32 * 32 * 16 * 16 * 9);
  EXPECT_NEAR(static_cast<double>(info.macs), 40.55e6, 0.01e6);
}

TEST(Networks, GiveLogitsForImagesOfOtherSizes) {
  const at::NoGradGuard no_grad;
  const ZeroWeights shapes_only;
  for (const std::string name :
       {"resnet18", "resnet50", "resnet18:form=cifar", "alexnet", "alexnet:form=cifar",
        "regnetx_400mf", "resnet9", "resnet9_celu", "airbench", "airbench:form=96",
        "wide_resnet:depth=10,width=1", "mnist_mlp", "mnist_cnn"}) {
    SCOPED_TRACE(name);
    const NetworkInput input{2, 67, 7};
    const auto network = make_network(name, input, 0);
    network->eval();
    EXPECT_EQ(network->forward(at::randn({3, 2, 67, 67})).sizes(), (at::IntArrayRef{3, 7}));
  }
}

TEST(Networks, LayersComeInTheOrderOfTheForwardPass) {
  for (const auto* entry : Registry<NetworkEntry>::instance().all()) {
    SCOPED_TRACE(entry->name);
    const auto& info = info_of(entry->name);
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
    const auto& info = info_of(name);
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
  EXPECT_EQ(followed("resnet18"), fmt::format("{:n>20}.", ""));
  EXPECT_EQ(followed("resnet50"), fmt::format("{:n>53}.", ""));
  EXPECT_EQ(followed("regnetx_400mf"), fmt::format("{:n>71}.", ""));
  EXPECT_EQ(followed("resnet9"), "nnnnnnnn.");
  // Of a pre-activation block the next norm takes the sum of its last convolution and its shortcut.
  EXPECT_EQ(followed("wide_resnet"), fmt::format("{:n>28}.", ""));
  EXPECT_EQ(followed("alexnet"), "........");
  EXPECT_EQ(followed("mnist_cnn"), "....");
}

// Blurring the input of a strided convolution, by hand for the first block that has one. The filter
// is symmetric and sums to one, so a constant image stays one away from the border.
TEST(Networks, BlurPoolFiltersBeforeStridedConvolutions) {
  const NetworkInput input{3, 32, 10};
  const auto plain = make_network("resnet18", input, 1),
             blurred = make_network("resnet18:blurpool=true", input, 1);
  const auto buffers = blurred->named_buffers();
  std::vector<std::string> filtered;
  for (const auto& item : buffers) {
    if (item.key().ends_with("_blur")) filtered.push_back(item.key());
  }
  EXPECT_EQ(filtered,
            (std::vector<std::string>{"stage2_block1.conv1_blur", "stage2_block1.shortcut_blur",
                                      "stage3_block1.conv1_blur", "stage3_block1.shortcut_blur",
                                      "stage4_block1.conv1_blur", "stage4_block1.shortcut_blur"}));
  const auto& filter = buffers["stage2_block1.conv1_blur"];
  EXPECT_EQ(filter.sizes(), (at::IntArrayRef{64, 1, 3, 3}));
  EXPECT_TRUE(at::equal(
      filter[63][0], at::tensor({1.f, 2.f, 1.f, 2.f, 4.f, 2.f, 1.f, 2.f, 1.f}).view({3, 3}) / 16));
  EXPECT_EQ(plain->parameters().size(), blurred->parameters().size());
  const auto x = at::randn({2, 3, 32, 32});
  plain->eval();
  blurred->eval();
  EXPECT_FALSE(at::allclose(plain->forward(x), blurred->forward(x)));
}

TEST(Networks, ZeroInitMakesEveryBlockItsShortcut) {
  for (const std::string name : {"resnet18", "resnet50"}) {
    const auto network = make_network(name + ":zero_init=true", {3, 32, 10}, 1);
    int64_t zero = 0;
    for (const auto& item : network->named_parameters()) {
      if (!item.key().ends_with("_norm.weight")) continue;
      const bool last =
          item.key().ends_with(name == "resnet18" ? "conv2_norm.weight" : "conv3_norm.weight");
      EXPECT_EQ(item.value().eq(0).all().item<bool>(), last) << item.key();
      zero += last;
    }
    EXPECT_EQ(zero, name == "resnet18" ? 8 : 16);
  }
}

TEST(Networks, EqualSeedsGiveEqualWeights) {
  const auto a = make_network("resnet14", {}, 3), b = make_network("resnet14", {}, 3),
             c = make_network("resnet14", {}, 4);
  const auto first = [](const auto& network) { return network->parameters()[0]; };
  EXPECT_TRUE(at::equal(first(a), first(b)));
  EXPECT_FALSE(at::equal(first(a), first(c)));
}

TEST(Networks, RefuseImagesThatTheirPoolingWouldSwallow) {
  for (const auto* entry : Registry<NetworkEntry>::instance().all()) {
    if (entry->smallest == 1) continue;
    EXPECT_THROW(make_network(entry->name, {1, entry->smallest - 1, 10}, 0), Error) << entry->name;
  }
  const at::NoGradGuard no_grad;
  const ZeroWeights shapes_only;
  for (const std::string name : {"resnet9", "resnet9_celu", "airbench", "vgg19", "mnist_cnn",
                                 "small_cnn", "alexnet:form=cifar"}) {
    const auto side = Registry<NetworkEntry>::instance().find(parse_spec(name).name).smallest;
    const auto smallest = make_network(name, {1, side, 10}, 0);
    EXPECT_EQ(smallest->forward(at::zeros({2, 1, side, side})).size(1), 10) << name;
  }
  EXPECT_THROW(make_network("vgg19", {1, 14, 10}, 0), Error);
  EXPECT_THROW(make_network("resnet21", {}, 0), Error);
}

}  // namespace
}  // namespace approx
