#include "core/nn/whitening.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"

namespace approx {

int64_t whitening_filters(int64_t channels, int64_t kernel, const WhiteningOptions& options) {
  return channels * kernel * kernel * (options.negatives ? 2 : 1);
}

void check_whitening(int64_t count, int64_t channels, int64_t size, int64_t kernel) {
  const int64_t side = std::max<int64_t>(0, size - kernel + 1);
  const int64_t patches = count * side * side, numbers = channels * kernel * kernel;
  if (patches >= numbers) return;
  throw usage_error(
      "the whitening convolution needs at least {0} patches of {1}x{1} pixels and {2} training "
      "images have {3}; use more training images",
      numbers, kernel, count, patches);
}

at::Tensor whitening_weight(const at::Tensor& images, int64_t kernel,
                            const WhiteningOptions& options) {
  const at::NoGradGuard no_grad;
  const int64_t channels = images.size(1), numbers = channels * kernel * kernel;
  check_whitening(images.size(0), channels, std::min(images.size(2), images.size(3)), kernel);
  constexpr int64_t kAtOnce = 250;  // images; a patch of each pixel takes memory
  auto moments = at::zeros({numbers, numbers}, at::kDouble);
  int64_t patches = 0;
  for (int64_t first = 0; first < images.size(0); first += kAtOnce) {
    const auto some = images.narrow(0, first, std::min(kAtOnce, images.size(0) - first))
                          .to(at::kCPU, at::kDouble)
                          .contiguous();
    const auto of_some = at::im2col(some, {kernel, kernel}, /*dilation=*/{1, 1},
                                    /*padding=*/{0, 0}, /*stride=*/{1, 1})
                             .transpose(0, 1)
                             .reshape({numbers, -1});  // [C k k, patches]
    moments.addmm_(of_some, of_some.t());
    patches += of_some.size(1);
  }
  const auto [values, vectors] = at::linalg_eigh(moments / static_cast<double>(patches));
  // Eigenvectors are columns, eigenvalues ascend.
  auto filters = (vectors / (values.clamp_min(0) + options.epsilon).sqrt()).t().flip(0);
  const auto largest = filters.gather(1, filters.abs().argmax(1, /*keepdim=*/true));
  filters = filters * at::where(largest < 0, -1.0, 1.0);
  if (options.negatives) filters = at::cat({filters, -filters});
  return filters.to(at::kFloat).reshape({-1, channels, kernel, kernel});
}

}  // namespace approx
