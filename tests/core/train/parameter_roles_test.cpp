#include "core/train/parameter_roles.h"

#include <gtest/gtest.h>

#include "core/networks/network.h"

namespace approx {
namespace {

TEST(ParameterRoles, BiasesOfNormsAreThoseAndNoOthers) {
  const auto network = make_network("small_cnn:width=4", {.channels = 1, .size = 8}, 0);
  std::set<std::string> expected;
  int64_t biases = 0;
  for (const auto& item : network->named_parameters()) {
    if (!item.key().ends_with("bias")) continue;
    ++biases;
    if (item.key().find("norm") != std::string::npos) expected.insert(item.key());
  }
  EXPECT_EQ(norm_biases(*network), expected);
  EXPECT_EQ(expected.size(), 3u);
  EXPECT_GT(biases, 3) << "the classifier has one";
  EXPECT_TRUE(norm_biases(*make_network("mnist_mlp", {.channels = 1, .size = 14}, 0)).empty());
}

TEST(ParameterRoles, TheFirstConvolutionMayHaveABias) {
  const auto cnn = make_network("mnist_cnn", {.channels = 1, .size = 28}, 0);
  EXPECT_TRUE(first_convolution_bias(*cnn).is_same(cnn->named_parameters()["conv1.bias"]));
  const auto without = make_network("small_cnn:width=4", {.channels = 1, .size = 8}, 0);
  EXPECT_FALSE(first_convolution_bias(*without).defined());
  const auto linear = make_network("mnist_mlp", {.channels = 1, .size = 14}, 0);
  EXPECT_FALSE(first_convolution_bias(*linear).defined());
}

}  // namespace
}  // namespace approx
