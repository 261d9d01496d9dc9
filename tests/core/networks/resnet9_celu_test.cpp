#include <torch/torch.h>

#include <map>
#include <string>

#include "core/networks/network.h"
#include "core/nn/whitening.h"
#include "tests/testing.h"

namespace approx {
namespace {

// By hand, from the layers. Page also counts norms' scales, which do not train: no parameters here.
TEST(ResNet9Celu, HasTheSizeOfThePublishedNetwork) {
  const auto network = make_network("resnet9_celu", {}, 0);
  const auto infos = layer_infos(*network, {});
  const int64_t whitening = 27 * 27, prep = 27 * 64, layer1 = 9 * 64 * 128, res1 = 9 * 128 * 128,
                layer2 = 9 * 128 * 256, layer3 = 9 * 256 * 512, res3 = 9 * 512 * 512,
                linear = 512 * 10;
  EXPECT_EQ(network->parameter_count(), whitening + prep + layer1 + 2 * res1 + layer2 + layer3 +
                                            2 * res3 + linear + 64 + 3 * 128 + 256 + 3 * 512);
  EXPECT_EQ(network->macs(), 1024 * (whitening + prep + layer1) + 256 * (2 * res1 + layer2) +
                                 64 * layer3 + 16 * 2 * res3 + linear);
  // 1.14 PFLOP in ten epochs of 50,000 images: two operations a multiply-accumulate, three
  // products.
  EXPECT_NEAR(6e-15 * static_cast<double>(network->macs()) * 5e5, 1.14, 0.005);
  std::string followed;
  for (const auto& info : infos) followed += info.norm_follows ? 'n' : '.';
  EXPECT_EQ(followed, ".n.nn..nn.") << "pooling comes before norms";
  EXPECT_TRUE(infos[0].frozen && infos[0].reads_images);
  EXPECT_TRUE(infos[1].reads_images) << "nothing before it trains";
  EXPECT_FALSE(infos[1].frozen);
}

TEST(ResNet9Celu, ForwardAndBackwardAreThoseOfThePublishedNetwork) {
  const auto network = make_network("resnet9_celu:width=16", {}, 5);
  const auto images = at::randn({4, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
  const auto whitened = network->whitened();
  ASSERT_TRUE(whitened);
  EXPECT_EQ(whitened->options.images, 10000);
  {
    const at::NoGradGuard no_grad;
    whitened->layer->weight.copy_(whitening_weight(images, 3, whitened->options));
  }
  const auto labels = at::tensor({3, 1, 4, 1}, at::kLong);
  const auto logits = network->forward(images);
  at::cross_entropy_loss(logits, labels).backward();

  std::map<std::string, at::Tensor> of;
  for (const auto& item : network->named_parameters()) {
    of[item.key()] =
        item.value().detach().to(at::kDouble).set_requires_grad(item.value().requires_grad());
  }
  const auto conv = [&](const at::Tensor& x, const std::string& name) {
    const auto& w = of.at(name + ".weight");
    return at::conv2d(x, w, {}, /*stride=*/1, /*padding=*/w.size(2) / 2);
  };
  const auto norm_celu = [&](const at::Tensor& x, const std::string& name) {
    return at::celu(at::batch_norm(x, {}, of.at(name + "_norm.bias"), {}, {}, /*training=*/true,
                                   0.1, 1e-5, /*cudnn_enabled=*/false),
                    0.3);
  };
  const auto block = [&](const at::Tensor& x, const std::string& name) {
    return norm_celu(conv(x, name), name);
  };
  const auto pooled = [&](const at::Tensor& x, const std::string& name) {
    return norm_celu(at::max_pool2d(conv(x, name), 2), name);
  };
  auto x = block(conv(images.to(at::kDouble), "whiten"), "prep");
  x = pooled(x, "layer1");
  x = x + block(block(x, "layer1_res1"), "layer1_res2");
  x = pooled(pooled(x, "layer2"), "layer3");
  x = x + block(block(x, "layer3_res1"), "layer3_res2");
  const auto wanted = at::linear(at::max_pool2d(x, 4).flatten(1), of.at("linear.weight")) / 16;
  at::cross_entropy_loss(wanted, labels).backward();
  EXPECT_TRUE(at::allclose(logits.to(at::kDouble), wanted, 1e-4, 1e-5));
  for (const auto& item : network->named_parameters()) {
    const auto &own = item.value().grad(), &truth = of[item.key()].grad();
    EXPECT_EQ(own.defined(), item.key() != "whiten.weight") << item.key();
    if (!own.defined() || !truth.defined()) continue;
    const double off = (own.to(at::kDouble) - truth).norm().item<double>();
    EXPECT_LE(off, 1e-3 * truth.norm().item<double>()) << item.key();
  }
}

}  // namespace
}  // namespace approx
