#include "core/nn/whitening.h"

#include <torch/torch.h>

#include "tests/testing.h"

namespace approx {
namespace {

// Images whose neighbouring pixels and channels are alike.
at::Tensor correlated_images(int64_t count, int64_t channels, int64_t size) {
  at::manual_seed(3);
  const auto noise = at::randn({count, channels, size + 2, size + 2});
  const auto smooth = at::avg_pool2d(noise, 3, /*stride=*/1);
  return (smooth + smooth.mean(1, /*keepdim=*/true) * 2 + 0.1)
      .contiguous(at::MemoryFormat::ChannelsLast);
}

// The mean over all patches of the products of two filters' outputs.
at::Tensor second_moments(const at::Tensor& images, const at::Tensor& weight) {
  const auto y = at::conv2d(images.to(at::kDouble), weight.to(at::kDouble))
                     .transpose(0, 1)
                     .reshape({weight.size(0), -1});
  return y.matmul(y.t()) / static_cast<double>(y.size(1));
}

TEST(Whitening, OutputsAreUncorrelatedAndAsLargeAsTheEpsilonLeavesThem) {
  for (const int64_t kernel : {2, 3}) {
    const auto images = correlated_images(/*count=*/300, 3, 12);  // more than one chunk
    const WhiteningOptions options{.epsilon = 0.01, .negatives = false};
    const auto weight = whitening_weight(images, kernel, options);
    ASSERT_EQ(weight.sizes(), (at::IntArrayRef{3 * kernel * kernel, 3, kernel, kernel}));
    const auto moments = second_moments(images, weight);
    // |v|^2 = 1 / (lambda + epsilon) of a filter, lambda / (lambda + epsilon) of its output.
    const auto square = weight.to(at::kDouble).square().sum({1, 2, 3});
    EXPECT_TRUE(at::allclose(moments, at::diag(1 - options.epsilon * square), 1e-4, 1e-5));
    EXPECT_TRUE((square.diff() > 0).all().item<bool>()) << "the largest eigenvalue comes first";
  }
}

TEST(Whitening, NegativesStandBehindTheFilters) {
  const auto images = correlated_images(20, 3, 8);
  const auto half = whitening_weight(images, 2, {.negatives = false});
  const auto weight = whitening_weight(images, 2, {});
  EXPECT_EQ(weight.size(0), whitening_filters(3, 2, {}));
  EXPECT_EQ(weight.size(0), 24);
  EXPECT_TRUE(at::equal(weight, at::cat({half, -half})));
  const auto flat = half.flatten(1);
  const auto largest = flat.gather(1, flat.abs().argmax(1, /*keepdim=*/true));
  EXPECT_TRUE((largest > 0).all().item<bool>());
}

TEST(Whitening, RefusesFewerPatchesThanNumbersOfOne) {
  EXPECT_NO_THROW(check_whitening(3, 3, 3, 2));  // 12 patches of 12 numbers
  try {
    whitening_weight(at::zeros({2, 3, 3, 3}), 2, {});
    FAIL() << "8 patches were enough";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUsage);
    EXPECT_STREQ(error.what(),
                 "the whitening convolution needs at least 12 patches of 2x2 pixels and 2 training "
                 "images have 8; use more training images");
  }
  EXPECT_THROW(check_whitening(100, 3, 1, 2), Error) << "no patch fits";
}

}  // namespace
}  // namespace approx
