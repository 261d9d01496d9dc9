#include "core/train/variance_control.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace approx {

bool GradientVariance::is_finite() const {
  return std::isfinite(batches) && std::isfinite(examples) &&
         std::ranges::all_of(layers, [](const auto& layer) {
           return std::isfinite(layer.batches) && std::isfinite(layer.weights.value_or(0));
         });
}

double examples_with(double share, std::vector<double> norms) {
  std::ranges::sort(norms, std::greater<>());
  const double sum = std::accumulate(norms.begin(), norms.end(), 0.0);
  if (!(sum > 0)) return 1;
  // Norms are left out from the smallest on. Their sum is exactly 0 as long as they are, so a share
  // of 1 keeps all others.
  const double may_leave = (1 - share) * sum;
  double left = 0;
  size_t kept = norms.size();
  while (kept > 1 && left + norms[kept - 1] <= may_leave) left += norms[--kept];
  return static_cast<double>(kept) / static_cast<double>(norms.size());
}

void VarianceControl::update(const GradientVariance& measured,
                             const std::map<std::string, ExampleRatios>& before) {
  const bool adds_little = measured.examples <= tolerance_ * measured.batches;
  share_ = std::clamp(share_ + (adds_little ? -kShareStep : kShareStep), 0.0, 1.0);
  double least = 0;
  for (const auto& layer : measured.layers) {
    // A layer that planned nothing in the measured passes has shown nothing.
    if (std::ranges::all_of(layer.norms, [](const auto& each) { return each.empty(); })) continue;
    double sum = 0;
    for (const auto& gradients : layer.norms) {
      double most = 0;
      for (const auto& norms : gradients) most = std::max(most, examples_with(share_, norms));
      sum += most;
    }
    least = std::max(least, sum / static_cast<double>(layer.norms.size()));
    double weights = before.at(layer.layer).weights;
    if (layer.weights) {
      const bool add_little = *layer.weights <= tolerance_ * layer.batches;
      weights = std::min(1.0, add_little ? weights * kWeightFactor : weights / kWeightFactor);
    }
    ratios_[layer.layer] = {.examples = least, .weights = weights};
  }
}

Json VarianceControl::state() const {
  Json of_layers = Json::object();
  for (const auto& [layer, ratios] : ratios_) of_layers[layer] = {ratios.examples, ratios.weights};
  return {{"share", share_}, {"ratios", of_layers}};
}

void VarianceControl::restore(const Json& state) {
  state.at("share").get_to(share_);
  ratios_.clear();
  for (const auto& [layer, ratios] : state.at("ratios").items()) {
    ratios_[layer] = {.examples = ratios.at(0).get<double>(),
                      .weights = ratios.at(1).get<double>()};
  }
}

}  // namespace approx
