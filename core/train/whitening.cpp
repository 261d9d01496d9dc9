#include "core/train/whitening.h"

#include <ATen/ATen.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>

#include "base/error.h"

namespace approx {

void check_whitening(const Network& network, const DeviceImages& train) {
  const auto whitened = network.whitened();
  if (!whitened) return;
  if (train.photos) {
    throw usage_error(
        "the network's whitening convolution needs images of one size, and these are photographs; "
        "use another network");
  }
  const auto& pixels = train.pixels;
  check_whitening(std::min(train.count(), whitened->options.images), pixels.size(3), pixels.size(1),
                  whitened->layer->info.kernel);
}

void whiten(const Network& network, const DeviceImages& train, const LoadedDataset& dataset,
            Collectives* ranks) {
  const auto whitened = network.whitened();
  if (!whitened) return;
  const at::NoGradGuard no_grad;
  const int64_t count = std::min(train.count(), whitened->options.images);
  const auto [mean, scale] = pixel_statistics(dataset, train.pixels.device());
  const auto images = normalised(train.pixels.narrow(0, 0, count), mean, scale);
  const auto weight =
      whitening_weight(images, whitened->layer->info.kernel, whitened->options).contiguous();
  // Processors that differ may round differently.
  if (ranks != nullptr) ranks->broadcast(weight);
  whitened->layer->weight.copy_(weight);
}

}  // namespace approx
