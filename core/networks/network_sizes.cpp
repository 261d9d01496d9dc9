#include "core/networks/network_sizes.h"

#include <ATen/ATen.h>

#include "base/error.h"

namespace approx {

void check_sizes(Network& network, const NetworkInput& input, const std::vector<int64_t>& sizes) {
  const at::NoGradGuard no_grad;
  const bool training = network.is_training();
  network.eval();  // batch norm's averages are not of empty images
  for (const int64_t size : sizes) {
    if (size == input.size) continue;
    try {
      network.forward(at::zeros({1, input.channels, size, size}));
    } catch (const c10::Error& error) {
      network.train(training);
      throw usage_error(
          "the network is built for images of {0}x{0} and cannot take {1}x{1}: {2}; set "
          "recipe.image_size, eval_size and start_size alike",
          input.size, size, error.what_without_backtrace());
    }
  }
  network.train(training);
}

}  // namespace approx
