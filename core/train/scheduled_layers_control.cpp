// Methods under a schedule whose ratios are controlled (core/methods/variance_controlled.h).
#include <algorithm>

#include "core/train/scheduled_layers.h"

namespace approx {
namespace {

// Steps from here on are of no training: the draws of measurements are keyed by them.
constexpr uint64_t kMeasuredSteps = uint64_t{1} << 47;
constexpr uint64_t kPassesOfAStep = 16;

}  // namespace

bool ScheduledLayers::is_controlled(size_t layer, int64_t step) const {
  if (controlled_ < 0) return false;
  const Decision decision = schedule_.at(layer, step, world_.rank);
  return std::ranges::any_of(kAllProducts,
                             [&](Product product) { return decision.of(product) == controlled_; });
}

VarianceControlled* ScheduledLayers::controlled(size_t layer, int64_t step) {
  if (!is_controlled(layer, step)) return nullptr;
  auto& method = method_of(layers_[layer], static_cast<size_t>(controlled_));
  return dynamic_cast<VarianceControlled*>(&method);
}

std::vector<ControlledLayer> ScheduledLayers::controlled_layers(int64_t step) {
  std::vector<ControlledLayer> found;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto& info = layers_[i].layer->info;
    if (auto* method = controlled(i, step)) {
      const Decision decision = schedule_.at(i, step, world_.rank);
      found.push_back({.name = info.name,
                       .method = method,
                       .samples_weights = !info.is_conv() &&
                                          decision.of(Product::kWeightGradient) == controlled_});
    }
  }
  return found;
}

std::optional<int64_t> ScheduledLayers::measured_every() const {
  if (controlled_ < 0) return std::nullopt;
  const auto& method = *prototypes_[static_cast<size_t>(controlled_)];
  return dynamic_cast<const VarianceControlled&>(method).every();
}

bool ScheduledLayers::wants_variance(int64_t step) const {
  if (controlled_ < 0 || step < measured_from_) return false;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (is_controlled(i, step)) return true;
  }
  return false;
}

bool ScheduledLayers::measures_variance_within(int64_t steps) const {
  const auto every = measured_every();
  if (!every) return true;
  for (int64_t step = *every; step < steps; ++step) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      if (is_controlled(i, step)) return true;
    }
  }
  return false;
}

void ScheduledLayers::begin_measured(int64_t step, const MeasuredPass& pass,
                                     const at::Tensor& loss_scale) {
  begin_exact();
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto* of_variance = controlled(i, step);
    if (of_variance == nullptr) continue;
    of_variance->begin_pass(pass.pass);
    const Decision decision = schedule_.at(i, step, world_.rank);
    auto& orders = layers_[i].layer->slot.orders;
    orders.seed = seed_;
    orders.rank = static_cast<uint32_t>(world_.rank);
    orders.step = kMeasuredSteps + kPassesOfAStep * static_cast<uint64_t>(step) +
                  static_cast<uint64_t>(pass.number);
    orders.loss_scale = loss_scale;
    for (const auto product : kAllProducts) {
      if (decision.of(product) != controlled_) continue;
      orders.methods[static_cast<size_t>(product)] =
          layers_[i].methods[static_cast<size_t>(controlled_)].get();
    }
  }
}

void ScheduledLayers::set_variance(int64_t step, const GradientVariance& measured, int64_t images) {
  const auto layers = controlled_layers(step);
  std::map<std::string, ExampleRatios> before;
  for (const auto& layer : layers) {
    layer.method->begin_pass(VarianceControlled::Pass::kTraining);
    before[layer.name] = layer.method->ratios();
  }
  for (const auto& pass : measured_passes()) {
    for (const auto& entry : layers_) {
      const auto& info = entry.layer->info;
      const auto found = before.find(info.name);
      const bool sampled = pass.pass == VarianceControlled::Pass::kSampled && found != before.end();
      for (const auto product : kAllProducts) {
        if (!info.computes(product)) continue;
        const double share = sampled && product != Product::kForward ? found->second.examples : 1.0;
        measured_macs_ += share * static_cast<double>(images * info.macs);
      }
    }
  }
  if (!measured.is_finite()) return;
  const int64_t every = measured_every().value();
  measured_from_ = (step / every + 1) * every;
  control_.update(measured, before);
  apply_ratios();
}

void ScheduledLayers::apply_ratios() {
  for (auto& entry : layers_) {
    const auto found = control_.ratios().find(entry.layer->info.name);
    if (found == control_.ratios().end()) continue;
    auto& method = method_of(entry, static_cast<size_t>(controlled_));
    dynamic_cast<VarianceControlled&>(method).set_ratios(found->second);
  }
}

std::optional<ScheduledLayers::ControlCost> ScheduledLayers::control_cost() const {
  if (controlled_ < 0) return std::nullopt;
  double exact = 0, done = 0;
  for (const auto& entry : layers_) {
    for (const auto product : kAllProducts) {
      const auto p = static_cast<size_t>(product);
      exact += entry.exact_macs[p];
      done += entry.exact_macs[p];
      for (const auto& of_method : entry.approximated) {
        exact += of_method[p].dense_macs;
        done += of_method[p].macs();
      }
    }
  }
  if (exact == 0) return ControlCost{};
  return ControlCost{.passes = measured_macs_ / exact, .saved = 1 - done / exact};
}

}  // namespace approx
