#include "core/train/evaluation.h"

#include <ATen/ATen.h>

#include <tuple>
#include <utility>

#include "core/networks/network.h"
#include "core/nn/norm.h"
#include "core/train/device.h"
#include "core/train/precision.h"
#include "core/train/weight_average.h"

namespace approx {

Evaluation::Evaluation(const RunConfig& config, const LoadedDataset& dataset, Session& session)
    : config_(config), session_(session) {
  std::tie(mean_, scale_) = pixel_statistics(dataset, open_device(config.device));
}

at::Tensor Evaluation::flipped_logits(const at::Tensor& x) {
  auto& network = session_.network();
  auto logits = network.forward(x).to(at::kFloat);
  if (!config_.recipe.test_flip) return logits;
  const auto mirrored = x.flip(3).contiguous(at::MemoryFormat::ChannelsLast);
  return (logits + network.forward(mirrored).to(at::kFloat)) / 2;
}

at::Tensor Evaluation::logits(const at::Tensor& x) {
  auto logits = flipped_logits(x);
  const int64_t shift = config_.recipe.test_shift;
  if (shift == 0) return logits;
  const auto padded = at::reflection_pad2d(x, {shift, shift, shift, shift});
  const auto of_crop = [&](int64_t from) {
    const auto crop = padded.narrow(2, from, x.size(2)).narrow(3, from, x.size(3));
    return flipped_logits(crop.contiguous(at::MemoryFormat::ChannelsLast));
  };
  return logits / 2 + (of_crop(0) + of_crop(2 * shift)) / 4;
}

// Takes the statistics from exact forward passes, which an evaluation makes too: a method may have
// trained with approximated ones. All ranks take the same images, since their shares could differ
// in number.
void Evaluation::renew_statistics() {
  const int64_t step = session_.steps_done();
  if (std::exchange(renewed_at_, step) == step) return;
  RenewedStatistics renewed(session_.network());
  EvalBatches batches(session_.split().train, mean_, scale_);
  for (int64_t i = 0; i < batches.count() && renewed.seen() < config_.recipe.norm_examples; ++i) {
    const auto x = batches.at(i).x;
    renewed.expect(x.size(0));
    session_.network().forward(x);
  }
}

Score Evaluation::score(const DeviceImages& images) {
  const at::NoGradGuard no_grad;
  auto& network = session_.network();
  auto* average = session_.average();
  auto* ranks = session_.ranks();
  const auto device = mean_.device();
  network.eval();
  if (average != nullptr) average->swap();
  const Autocast autocast(config_.precision, device.type());
  if (config_.recipe.norm_examples > 0) renew_statistics();
  auto correct = at::zeros({}, at::TensorOptions().dtype(at::kLong).device(device));
  auto loss = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device));
  EvalBatches batches(images, mean_, scale_, ranks == nullptr ? World() : ranks->world());
  for (int64_t i = 0; i < batches.count(); ++i) {
    const auto batch = batches.at(i);
    const auto found = logits(batch.x);
    correct.add_(found.argmax(1).eq(batch.labels).sum());
    loss.add_(at::cross_entropy_loss(found, batch.labels, {}, at::Reduction::Sum));
  }
  if (average != nullptr) average->swap();
  network.train();
  // The host is about to go by them, and waits for its own device alone.
  correct = correct.cpu();
  loss = loss.cpu();
  if (ranks != nullptr) {
    ranks->sum(correct);
    ranks->sum(loss);
  }
  const auto count = static_cast<double>(images.count());
  return {static_cast<double>(correct.item<int64_t>()) / count, loss.item<double>() / count};
}

}  // namespace approx
