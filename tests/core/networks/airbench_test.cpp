#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "core/networks/network.h"
#include "core/nn/whitening.h"
#include "tests/testing.h"

namespace approx {
namespace {

struct PublishedForm {
  std::string text;
  std::vector<int64_t> widths;
  bool residual;
  // As PyTorch counts them of the classes in the scripts, norms' scales left out, which do not
  // train.
  int64_t parameters, macs;
  double epochs, petaflops;  // of the script's head
};

const std::vector<PublishedForm> kForms = {
    {"airbench", {64, 256, 256}, false, 1971640, 118147360, 9.9, 0.36},
    {"airbench:form=95", {128, 384, 384}, false, 4604728, 301560864, 15, 1.39},
    {"airbench:form=96", {128, 384, 512}, true, 9915704, 451967264, 37, 4.91}};

// Also by hand, from the layers.
TEST(Airbench, HasTheSizeOfThePublishedNetworks) {
  for (const auto& form : kForms) {
    SCOPED_TRACE(form.text);
    const int64_t per_group = form.residual ? 3 : 2;
    int64_t parameters = 24 * 3 * 4 + 24, macs = int64_t{31} * 31 * 24 * 12, channels = 24;
    int64_t side = 31, convolutions = 1;
    for (const int64_t width : form.widths) {
      macs += side * side * width * channels * 9;
      side /= 2;
      macs += (per_group - 1) * side * side * width * width * 9;
      parameters += 9 * width * (channels + (per_group - 1) * width) + per_group * width;
      channels = width;
      convolutions += per_group;
    }
    ASSERT_EQ(side, 3);
    parameters += 10 * channels;
    macs += 10 * channels;
    const auto network = make_network(form.text, {}, 0);
    const auto infos = layer_infos(*network, {});
    EXPECT_EQ(network->parameter_count(), parameters);
    EXPECT_EQ(network->parameter_count(), form.parameters);
    EXPECT_EQ(network->macs(), macs);
    EXPECT_EQ(network->macs(), form.macs);
    EXPECT_EQ(static_cast<int64_t>(infos.size()), convolutions + 1);
    // Two operations a multiply-accumulate, three products, 50,000 images an epoch. What else the
    // heads count is not said.
    EXPECT_NEAR(6e-15 * static_cast<double>(macs) * 5e4 * form.epochs / form.petaflops, 1, 0.03);
    std::string followed;
    for (const auto& info : infos) followed += info.norm_follows ? 'n' : '.';
    EXPECT_EQ(followed, form.residual ? "..nn.nn.nn." : "..n.n.n.") << "pooling comes before norms";
    EXPECT_TRUE(infos[0].frozen && infos[0].reads_images);
    EXPECT_FALSE(infos[1].frozen || infos[1].reads_images);
  }
}

// The script's forward pass in LibTorch's operators, of parameters by their names.
at::Tensor by_operators(const std::map<std::string, at::Tensor>& of, const PublishedForm& form,
                        const at::Tensor& images) {
  const auto norm = [&](const at::Tensor& x, const std::string& name) {
    return at::batch_norm(x, /*weight=*/{}, of.at(name + ".bias"), {}, {}, /*training=*/true, 0.4,
                          1e-12, /*cudnn_enabled=*/false);
  };
  auto x = at::gelu(at::conv2d(images, of.at("whiten.weight"), of.at("whiten.bias")));
  for (int i = 1; i <= 3; ++i) {
    const std::string group = fmt::format("group{}.", i);
    const auto conv = [&](const at::Tensor& from, const char* name) {
      return at::conv2d(from, of.at(group + name + ".weight"), {}, /*stride=*/1, /*padding=*/1);
    };
    const auto first = at::gelu(norm(at::max_pool2d(conv(x, "conv1"), 2), group + "norm1"));
    x = at::gelu(norm(conv(first, "conv2"), group + "norm2"));
    if (form.residual) x = at::gelu(norm(conv(x, "conv3"), group + "norm3") + first);
  }
  return at::linear(at::max_pool2d(x, 3).flatten(1), of.at("linear.weight")) / 9;
}

// Its groups of 64, 256 and 256 channels shrink to multiples of 8.
TEST(Airbench, MayBeNarrower) {
  const auto widths = [](const char* text) {
    const auto network = make_network(text, {}, 0);
    const auto infos = layer_infos(*network, {});
    std::vector<int64_t> found;
    for (size_t i = 1; i + 1 < infos.size(); i += 2) found.push_back(infos[i].out_channels);
    return found;
  };
  EXPECT_EQ(widths("airbench:width=0.75"), (std::vector<int64_t>{48, 192, 192}));
  EXPECT_EQ(widths("airbench:width=0.7"), (std::vector<int64_t>{48, 176, 176}));
  EXPECT_EQ(widths("airbench:width=0.01"), (std::vector<int64_t>{8, 8, 8}));
}

TEST(Airbench, ForwardAndBackwardAreThoseOfThePublishedNetwork) {
  for (const auto& form : kForms) {
    SCOPED_TRACE(form.text);
    const auto network = make_network(form.text, {}, 5);
    const auto images = at::randn({4, 3, 32, 32}).contiguous(at::MemoryFormat::ChannelsLast);
    const auto whitened = network->whitened();
    ASSERT_TRUE(whitened);
    {
      const at::NoGradGuard no_grad;
      whitened->layer->weight.copy_(whitening_weight(images, 2, whitened->options));
    }
    const auto labels = at::tensor({3, 1, 4, 1}, at::kLong);
    const auto logits = network->forward(images);
    at::cross_entropy_loss(logits, labels).backward();

    std::map<std::string, at::Tensor> wide;
    for (const auto& item : network->named_parameters()) {
      wide[item.key()] =
          item.value().detach().to(at::kDouble).set_requires_grad(item.value().requires_grad());
    }
    const auto wanted = by_operators(wide, form, images.to(at::kDouble));
    at::cross_entropy_loss(wanted, labels).backward();
    EXPECT_TRUE(at::allclose(logits.to(at::kDouble), wanted, 1e-4, 1e-5));
    for (const auto& item : network->named_parameters()) {
      const auto &own = item.value().grad(), &truth = wide[item.key()].grad();
      EXPECT_EQ(own.defined(), item.key() != "whiten.weight") << item.key();
      ASSERT_EQ(own.defined(), truth.defined()) << item.key();
      if (!own.defined()) continue;
      const double off = (own.to(at::kDouble) - truth).norm().item<double>();
      EXPECT_LE(off, 1e-3 * truth.norm().item<double>()) << item.key();
    }
    // PyTorch's momentum of the script: of 0 and one batch.
    for (const auto& item : network->named_buffers()) {
      if (item.key().ends_with(".weight")) {
        EXPECT_TRUE(item.value().eq(1).all().item<bool>()) << item.key();
      }
      if (item.key() != "group1.norm1.running_mean") continue;
      const auto x = at::gelu(at::conv2d(images, wide["whiten.weight"].to(at::kFloat)));
      const auto mean = at::max_pool2d(at::conv2d(x, wide["group1.conv1.weight"].to(at::kFloat), {},
                                                  /*stride=*/1, /*padding=*/1),
                                       2)
                            .mean({0, 2, 3});
      EXPECT_TRUE(close(item.value(), (form.residual ? 0.1 : 0.4) * mean, 1e-4));
    }
  }
}

}  // namespace
}  // namespace approx
