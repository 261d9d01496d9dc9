#include "cli/bench/network_shapes.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace approx {
namespace {

using ::testing::ElementsAre;

LayerInfo conv(int64_t index, int64_t in, int64_t out, int64_t size, int64_t stride = 1) {
  LayerInfo layer;
  layer.kind = "conv3x3";
  layer.index = index;
  layer.in_channels = in, layer.out_channels = out;
  layer.kernel = 3, layer.stride = stride, layer.padding = 1;
  layer.in_size = size, layer.out_size = size / stride;
  return layer;
}

LayerInfo linear(int64_t index, int64_t in, int64_t out) {
  LayerInfo layer;
  layer.kind = "linear";
  layer.index = index;
  layer.in_channels = in, layer.out_channels = out;
  return layer;
}

Catalogue two_networks() {
  Catalogue catalogue;
  auto& small = catalogue.networks.emplace_back();
  small.name = "small";
  small.layers = {conv(1, 3, 8, 16),     conv(2, 8, 8, 16), conv(3, 8, 8, 16),
                  conv(4, 8, 16, 16, 2), conv(5, 8, 8, 16), linear(1, 16, 10)};
  auto& other = catalogue.networks.emplace_back();
  other.name = "other";
  other.layers = {conv(1, 3, 8, 16), linear(1, 32, 32), linear(2, 32, 32), linear(3, 16, 10)};
  return catalogue;
}

std::vector<std::string> labels_of(const std::vector<ConvShape>& shapes) {
  std::vector<std::string> labels;
  for (const auto& shape : shapes) labels.push_back(shape.label);
  return labels;
}

TEST(NetworkShapes, EachDistinctShapeStandsOnceForItsLayers) {
  const auto catalogue = two_networks();
  const auto shapes = network_shapes(networks_named(catalogue, {"all"}), 32);
  EXPECT_THAT(labels_of(shapes),
              ElementsAre("small conv 1; other conv 1", "small conv 2-3,5", "small conv 4",
                          "small linear 1; other linear 3", "other linear 1-2"));
}

TEST(NetworkShapes, HaveTheNumbersOfTheirLayers) {
  const auto catalogue = two_networks();
  const auto shapes = network_shapes(networks_named(catalogue, {"small"}), 32);
  ASSERT_EQ(shapes.size(), 4u);
  const ConvShape& strided = shapes[2];
  EXPECT_EQ(strided.batch, 32);
  EXPECT_EQ(strided.in_channels, 8);
  EXPECT_EQ(strided.out_channels, 16);
  EXPECT_EQ(strided.size, 16);
  EXPECT_EQ(strided.kernel, 3);
  EXPECT_EQ(strided.stride, 2);
  EXPECT_EQ(strided.padding, 1);
  const ConvShape& last = shapes[3];
  EXPECT_EQ(last.size, 1);
  EXPECT_EQ(last.kernel, 1);
  EXPECT_EQ(last.padding, 0);
  EXPECT_EQ(last.out_channels, 10);
}

// A 1x1 convolution of one pixel is what a linear layer is.
TEST(NetworkShapes, ALinearLayerAndAConvolutionMayBeOneShape) {
  Catalogue catalogue;
  auto& network = catalogue.networks.emplace_back();
  network.name = "mixed";
  auto pointwise = conv(1, 16, 10, 1);
  pointwise.kernel = 1, pointwise.padding = 0;
  network.layers = {pointwise, linear(1, 16, 10)};
  EXPECT_THAT(labels_of(network_shapes(networks_named(catalogue, {"mixed"}), 1)),
              ElementsAre("mixed conv 1, linear 1"));
}

TEST(NetworkShapes, ANetworkIsTakenOnceAndMustBeKnown) {
  const auto catalogue = two_networks();
  EXPECT_EQ(networks_named(catalogue, {"other", "all", "other"}).size(), 2u);
  EXPECT_EQ(networks_named(catalogue, {"other", "all"}).front()->name, "other");
  EXPECT_TRUE(networks_named(catalogue, {}).empty());
  EXPECT_THROW(networks_named(catalogue, {"smal"}), Error);
}

}  // namespace
}  // namespace approx
