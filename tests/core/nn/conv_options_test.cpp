// How a convolution's weight starts, and one that does not train.
#include <torch/torch.h>

#include <algorithm>
#include <cmath>

#include "core/nn/layers.h"
#include "tests/testing.h"

namespace approx {
namespace {

TEST(ConvOptions, TheFirstFiltersOfADiracStartPassOnTheirChannel) {
  for (const auto& [inputs, outputs] : {std::pair<int64_t, int64_t>{6, 10}, {10, 6}}) {
    at::manual_seed(1);
    Conv conv(ConvOptions{
        .in_channels = inputs, .out_channels = outputs, .padding = 1, .start = ConvStart::kDirac});
    const int64_t passed = std::min(inputs, outputs);
    const auto x = at::randn({2, inputs, 5, 5});
    const auto y = conv->forward(x);
    EXPECT_TRUE(at::equal(y.narrow(1, 0, passed), x.narrow(1, 0, passed)));
    const double bound = 1 / std::sqrt(9.0 * static_cast<double>(inputs));
    const auto rest = conv->weight.detach().narrow(0, passed, outputs - passed);
    if (rest.numel() == 0) continue;
    EXPECT_LE(rest.abs().max().item<double>(), bound);
    EXPECT_NEAR(rest.std().item<double>(), bound / std::sqrt(3), 0.1 * bound);  // of a uniform law
  }
}

// Through LibTorch's node and through ours.
TEST(ConvOptions, AFrozenWeightHasNoGradientAndItsProductIsNotCounted) {
  for (const bool by_us : {false, true}) {
    Conv conv(ConvOptions{
        .in_channels = 3, .out_channels = 8, .kernel = 2, .bias = true, .frozen = true});
    EXPECT_TRUE(conv->info.frozen);
    EXPECT_FALSE(conv->weight.requires_grad());
    LayerVariants variants;
    GradientCount gradient;
    conv->slot.counts.variants = &variants;
    conv->slot.counts.gradient = &gradient;
    const auto x = at::randn({4, 3, 9, 9}).contiguous(at::MemoryFormat::ChannelsLast);
    const auto y = by_us ? approximated_conv(x, conv->weight, conv->bias, Geometry{}, conv->slot, 1)
                         : conv->forward(x);
    y.sum().backward();
    EXPECT_FALSE(conv->weight.grad().defined());
    EXPECT_TRUE(at::equal(conv->bias.grad(), at::full({8}, 4.0F * 8 * 8)));
    EXPECT_FALSE(variants.of(Product::kForward).entries().empty());
    EXPECT_TRUE(variants.of(Product::kWeightGradient).entries().empty());
    EXPECT_TRUE(variants.of(Product::kDataGradient).entries().empty());
    if (!by_us) {
      EXPECT_FALSE(gradient.nonzero.defined());
    }
  }
}

}  // namespace
}  // namespace approx
