// The weight of a frozen first convolution whose outputs are uncorrelated. Its filters are the
// eigenvectors of the second moments of image patches, each divided by the square root of its
// eigenvalue. Sources: Page 2019, "How to train your ResNet 8"; Jordan 2024, "94% on CIFAR-10 in
// 3.29 seconds".
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>

namespace approx {

struct WhiteningOptions {
  int64_t images = 5000;  // use the first training images, all if there are fewer
  double epsilon = 5e-4;  // added to each eigenvalue
  bool negatives = true;  // the filters are followed by their negatives
};

// The number of filters for patches of `channels` channels and `kernel` pixels a side.
int64_t whitening_filters(int64_t channels, int64_t kernel, const WhiteningOptions& options);

// Throws Error(kUsage) if `count` images of `size` pixels a side have fewer patches than a patch
// has elements.
void check_whitening(int64_t count, int64_t channels, int64_t size, int64_t kernel);

// The filters [whitening_filters,C,kernel,kernel] that whiten normalised images [N,C,H,W], as float
// on the CPU. They are sorted by eigenvalue, the largest first, and computed in double precision. A
// filter's element of largest magnitude is positive, so that the weight does not depend on the
// solver's signs. Patches lie within the images. Throws as check_whitening() does.
at::Tensor whitening_weight(const at::Tensor& images, int64_t kernel,
                            const WhiteningOptions& options);

}  // namespace approx
