#include "core/train/gradient_variance.h"

#include <ATen/ATen.h>

#include <algorithm>

#include "core/train/extra_gradients.h"

namespace approx {
namespace {

using Gradients = std::vector<at::Tensor>;

at::Tensor square_of(const at::Tensor& values) { return values.to(at::kDouble).square().sum(); }

// The squared distances of two gradients, by parameter: [P] double.
at::Tensor distances(const Gradients& left, const Gradients& right) {
  std::vector<at::Tensor> each;
  for (size_t p = 0; p < left.size(); ++p) each.push_back(square_of(left[p] - right[p]));
  return at::stack(each);
}

// The sum over batches of the squared distances from their mean, by parameter.
at::Tensor spread(const std::vector<Gradients>& batches) {
  Gradients mean = batches.front();
  for (size_t i = 1; i < batches.size(); ++i) {
    for (size_t p = 0; p < mean.size(); ++p) mean[p] = mean[p] + batches[i][p];
  }
  for (auto& gradient : mean) gradient = gradient / static_cast<double>(batches.size());
  auto sum = distances(batches.front(), mean);
  for (size_t i = 1; i < batches.size(); ++i) sum = sum + distances(batches[i], mean);
  return sum;
}

std::vector<double> as_numbers(const at::Tensor& tensor) {
  const auto values = tensor.to(at::kCPU, at::kDouble).contiguous();
  return {values.data_ptr<double>(), values.data_ptr<double>() + values.numel()};
}

}  // namespace

std::vector<MeasuredPass> measured_passes() {
  using enum VarianceControlled::Pass;
  std::vector<MeasuredPass> passes;
  for (int64_t batch = 0; batch < kMeasuredBatches; ++batch) {
    const auto add = [&](VarianceControlled::Pass pass) {
      passes.push_back({pass, batch, static_cast<int64_t>(passes.size())});
    };
    add(kExact);
    for (int64_t draw = 0; draw < kMeasuredBatches; ++draw) add(kSampled);
  }
  return passes;
}

GradientVariance measured_variance(Network& network, const std::vector<ControlledLayer>& layers,
                                   c10::Device device,
                                   const std::function<at::Tensor(const MeasuredPass&)>& loss) {
  ExtraGradients extra(network, device);
  const auto gradients = [&](const MeasuredPass& pass) {
    auto each = extra.of(loss(pass));
    for (size_t p = 0; p < each.size(); ++p) {
      if (!each[p].defined()) each[p] = at::zeros_like(extra.parameters()[p]);
    }
    return each;
  };

  GradientVariance variance;
  for (const auto& layer : layers) variance.layers.push_back({.layer = layer.name});
  std::vector<Gradients> exact;
  auto added = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(device));
  for (const auto& pass : measured_passes()) {
    if (pass.pass == VarianceControlled::Pass::kSampled) {
      added = added + distances(gradients(pass), exact.back()).sum();
      continue;
    }
    exact.push_back(gradients(pass));
    for (size_t i = 0; i < layers.size(); ++i) {
      std::vector<std::vector<double>> norms;
      for (const auto& each : layers[i].method->take_norms()) norms.push_back(as_numbers(each));
      variance.layers[i].norms.push_back(std::move(norms));
    }
  }
  constexpr double kSampledPasses = kMeasuredBatches * kMeasuredBatches;
  variance.examples = added.item<double>() / kSampledPasses;
  const auto between = as_numbers(spread(exact));
  for (const double of_parameter : between) variance.batches += of_parameter;
  variance.batches /= kMeasuredBatches - 1;
  for (size_t i = 0; i < layers.size(); ++i) {
    auto& layer = variance.layers[i];
    const double second = layers[i].method->take_weight_variance() / kSampledPasses;
    if (layers[i].samples_weights) layer.weights = second;
    const auto& names = extra.names();
    const auto weight = std::ranges::find(names, layer.layer + ".weight");
    if (weight == names.end()) continue;
    layer.batches = between[static_cast<size_t>(weight - names.begin())] / (kMeasuredBatches - 1);
  }
  return variance;
}

}  // namespace approx
