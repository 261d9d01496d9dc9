// The controller of VCAS (Wang, Chen & Zhu 2024, "Efficient Backpropagation with
// Variance-Controlled Adaptive Sampling", section 5). It sets the shares of examples that layers
// keep. Their draws then add little to the variance that the gradient has anyway.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "core/methods/variance_controlled.h"

namespace approx {

// One layer in one measurement.
struct LayerVariance {
  std::string layer;
  double batches = 0;                  // of its weight gradient, between batches
  std::optional<double> weights = {};  // what a second sample would add to that; nothing: it
                                       // takes none
  // The norms of the examples: by batch, then by gradient that was sampled.
  std::vector<std::vector<std::vector<double>>> norms = {};
};

// One measurement.
struct GradientVariance {
  double batches = 0;                      // of the gradient of all parameters, between batches
  double examples = 0;                     // what the samples of examples add to that
  std::vector<LayerVariance> layers = {};  // in the order of the forward pass

  // Whether all variances are numbers.
  bool is_finite() const;
};

class VarianceControl {
 public:
  static constexpr double kShareStep = 0.01;     // alpha in the paper
  static constexpr double kWeightFactor = 0.95;  // beta in the paper

  explicit VarianceControl(double tolerance = 0) : tolerance_(tolerance) {}

  // Sets the ratios by a measurement.
  // - The share s of the norms that every layer keeps falls by kShareStep if `examples` is at most
  //   tolerance * `batches`. Otherwise it rises, up to 1. It begins at 1.
  // - A layer keeps as many examples as have the share s of the sum of norms, those with the
  //   largest norms first. This is the mean over the batches and at least what an earlier layer
  //   keeps. The gradient of a batch that needs most counts.
  // - The ratio of a weight gradient that takes a second sample is multiplied by kWeightFactor if
  //   `weights` is at most tolerance * `batches` of that layer. Otherwise it is divided by it, up
  //   to 1.
  // `before`: the ratios that the measured layers had in the measurement.
  void update(const GradientVariance& measured, const std::map<std::string, ExampleRatios>& before);

  double share() const { return share_; }
  // By layer; those that were never measured are missing.
  const std::map<std::string, ExampleRatios>& ratios() const { return ratios_; }

  Json state() const;
  // Throws Json::exception for what state() does not return.
  void restore(const Json& state);

 private:
  double tolerance_;
  double share_ = 1;
  std::map<std::string, ExampleRatios> ratios_;
};

// The smallest share of the examples whose norms, largest first, sum up to `share` of all; 1 if no
// norm is above 0. At least one example. 0 <= share <= 1.
double examples_with(double share, std::vector<double> norms);

}  // namespace approx
