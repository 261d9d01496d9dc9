#include "core/train/scheduled_layers.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "core/config/dense.h"
#include "core/methods/freezing.h"

namespace approx {

void make_exact(Layer& layer) {
  layer.slot = LayerSlot{};
  layer.slot.orders.norm_follows = layer.info.norm_follows;
}

ScheduledLayers::ScheduledLayers(std::vector<Layer*> layers, Schedule schedule, uint64_t seed,
                                 World world, std::vector<BranchImpl*> branches)
    : schedule_(std::move(schedule)), seed_(seed), world_(world) {
  for (auto* branch : branches) branch->orders = {};
  if (schedule_.stops_any()) branches_ = std::move(branches);
  for (const auto& text : schedule_.methods()) {
    auto& method = prototypes_.emplace_back(make_method(text));
    abstains_.push_back(method->abstains());
    freezes_.push_back(dynamic_cast<const FreezingMethod*>(method.get()) != nullptr);
    const auto* of_variance = dynamic_cast<const VarianceControlled*>(method.get());
    if (of_variance != nullptr && of_variance->tolerance() > 0) {
      if (controlled_ >= 0) {
        throw usage_error(
            "{} and {}: one training controls the ratios of one of them; give the others "
            "tolerance=0",
            schedule_.methods().at(static_cast<size_t>(controlled_)), text);
      }
      if (world_.size > 1) {
        throw usage_error("{} measures its ratios, which works on one rank only; use tolerance=0",
                          text);
      }
      controlled_ = static_cast<int>(prototypes_.size()) - 1;
      control_ = VarianceControl(of_variance->tolerance());
      measured_from_ = of_variance->every();
    }
    if (!schedule_.tells_ranks_apart()) continue;
    if (freezes_.back()) {
      throw usage_error("{} freezes a layer on all ranks: leave `ranks` out of the rules", text);
    }
    if (method->memory() == nullptr) continue;
    throw usage_error(
        "{} remembers from step to step, for which all ranks must use it alike: leave `ranks` out "
        "of the rules, or take a method without a memory",
        text);
  }
  const size_t methods = schedule_.methods().size();
  for (auto* layer : layers) {
    make_exact(*layer);
    PerLayer entry;
    entry.layer = layer;
    entry.methods.resize(methods);
    entry.approximated.resize(methods);
    entry.kept_before.resize(methods);
    layers_.push_back(std::move(entry));
  }
}

std::vector<BranchImpl*> ScheduledLayers::measured_branches() const {
  std::vector<BranchImpl*> measured;
  const auto blocks = schedule_.measured_blocks();
  for (auto* branch : branches_) {
    if (std::ranges::find(blocks, branch->block) != blocks.end()) measured.push_back(branch);
  }
  return measured;
}

void ScheduledLayers::begin_exact() {
  for (auto& entry : layers_) make_exact(*entry.layer);
  for (auto* branch : branches_) branch->orders = {};
}

void ScheduledLayers::set_sensitivities(const std::map<std::string, double>& of_blocks) {
  const auto is_finite = [](const auto& item) { return std::isfinite(item.second); };
  if (!std::ranges::all_of(of_blocks, is_finite)) return;
  sensitivities_ = of_blocks;
  schedule_.set_sensitivities(of_blocks);
}

std::vector<std::pair<std::string, double>> ScheduledLayers::block_rates() const {
  std::vector<std::pair<std::string, double>> rates;
  for (const auto& [block, sensitivity] : sensitivities_) {
    rates.emplace_back(block, schedule_.block_chance(block));
  }
  return rates;
}

Method& ScheduledLayers::method_of(PerLayer& layer, size_t index) {
  auto& method = layer.methods[index];
  if (method == nullptr) method = make_method(schedule_.methods()[index]);
  return *method;
}

void ScheduledLayers::begin_step(int64_t step, const at::Tensor& loss_scale,
                                 const uint64_t* step_at) {
  row_.clear();
  begin_frozen(step);
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto& entry = layers_[i];
    const Decision decision = schedule_.at(i, step, world_.rank);
    auto& [orders, counts] = entry.layer->slot;
    orders.seed = seed_;
    orders.rank = static_cast<uint32_t>(world_.rank);
    orders.step = static_cast<uint64_t>(step);
    orders.step_at = step_at;
    orders.loss_scale = loss_scale;
    const bool convolution = entry.layer->info.kind != "linear";
    counts.gradient = counts_gradients_ && convolution ? &entry.gradient : nullptr;
    counts.variants = &entry.variants;
    if (world_.size > 1) {
      counts.part = &entry.part;
      begin_part(i, step, decision.of(Product::kWeightGradient));
    }
    for (const auto product : kAllProducts) {
      const auto p = static_cast<size_t>(product);
      const int index = decision.of(product);
      row_.push_back(index);
      const int left_out = schedule_.stops_blocks(index) ? index : ending(i, product, step);
      if (left_out != Decision::kDense) {
        // There is no graph, so nobody asks the layer for this product.
        const auto m = static_cast<size_t>(left_out);
        method_of(entry, m);
        auto& count = entry.approximated[m][p];
        ++count.calls;
        orders.methods[p] = nullptr;
        orders.kept[p] = nullptr;
        counts.use[p] = nullptr;
        counts.dense_macs[p] = &count.dense_macs;
        continue;
      }
      if (index == Decision::kDense) {
        const bool computed = entry.layer->info.computes(product);
        orders.methods[p] = nullptr;
        orders.kept[p] = nullptr;
        counts.use[p] = nullptr;
        counts.dense_macs[p] = computed ? &entry.exact_macs[p] : nullptr;
        entry.exact[p] += computed;
        continue;
      }
      const auto m = static_cast<size_t>(index);
      auto& count = entry.approximated[m][p];
      orders.methods[p] = &method_of(entry, m);
      orders.kept[p] = &entry.kept_before[m];
      counts.use[p] = &count;
      counts.dense_macs[p] = &count.dense_macs;
    }
  }
  begin_branches(step);
  if (schedule_.tells_ranks_apart()) add_all_ranks(step);
}

void ScheduledLayers::begin_frozen(int64_t step) {
  frozen_ = {};
  if (std::ranges::find(freezes_, true) == freezes_.end()) return;
  std::vector<bool> frozen;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const int method = schedule_.at(i, step, world_.rank).of(Product::kWeightGradient);
    frozen.push_back(method >= 0 && freezes_[static_cast<size_t>(method)]);
  }
  if (std::ranges::find(frozen, true) == frozen.end()) return;
  // A layer whose weight never trains, such as one that whitens, is no place for the pass to go to.
  size_t leading = 0, reached = 0;
  for (; reached < frozen.size(); ++reached) {
    if (frozen[reached]) leading = reached + 1;
    if (!frozen[reached] && !layers_[reached].layer->info.frozen) break;
  }
  frozen_ = {std::move(frozen), leading};
}

int ScheduledLayers::ending(size_t layer, Product product, int64_t step) const {
  if (frozen_.layers.empty() || product == Product::kForward) return Decision::kDense;
  if (!layers_[layer].layer->info.computes(product)) return Decision::kDense;
  // The first layer that trains leaves out its data gradient alone.
  const bool is_first = layer == frozen_.leading && layer > 0;
  const bool leads = layer < frozen_.leading || (is_first && product == Product::kDataGradient);
  const bool own = frozen_.layers[layer] && product == Product::kWeightGradient;
  if (!leads && !own) return Decision::kDense;
  const size_t of = frozen_.layers[layer] ? layer : frozen_.leading - 1;
  return schedule_.at(of, step, world_.rank).of(Product::kWeightGradient);
}

void ScheduledLayers::begin_branches(int64_t step) {
  for (auto* branch : branches_) {
    const auto decision = schedule_.branch_at(branch->block, step);
    branch->orders = {};
    if (decision.rule >= 0) {
      branch->orders.stopped = decision.stopped;
      const auto& method = *prototypes_.at(static_cast<size_t>(decision.method));
      if (!decision.stopped) branch->orders.scale = method.kept_scale(decision.chance);
    }
    // Below kDense, as it is no method.
    row_.push_back(Decision::kDense - 1 - 2 * (decision.rule + 1) - (decision.stopped ? 1 : 0));
  }
}

void ScheduledLayers::add_all_ranks(int64_t step) {
  for (int64_t rank = 0; rank < world_.size; ++rank) {
    for (size_t i = 0; i < layers_.size(); ++i) {
      const Decision decision = schedule_.at(i, step, rank);
      for (const auto product : kAllProducts) row_.push_back(decision.of(product));
    }
  }
}

// All ranks decide for all, so nothing has to be said.
void ScheduledLayers::begin_part(size_t layer, int64_t step, int own) {
  auto& part = layers_[layer].part;
  part = {};
  const auto has_computed = [&](int method) {
    return method == Decision::kDense || !abstains_[static_cast<size_t>(method)];
  };
  if (!schedule_.tells_ranks_apart()) {
    part.is_of_all = has_computed(own);
    return;
  }
  for (int64_t rank = 0; rank < world_.size; ++rank) {
    const int method = schedule_.at(layer, step, rank).of(Product::kWeightGradient);
    part.is_alike &= method == own;
    if (has_computed(method)) part.ranks.push_back(rank);
  }
  part.is_of_all = static_cast<int64_t>(part.ranks.size()) == world_.size;
  if (part.is_of_all) part.ranks.clear();
}

const GradientPart* ScheduledLayers::part(std::string_view layer) const {
  if (world_.size == 1) return nullptr;
  for (const auto& entry : layers_) {
    if (entry.layer->info.name == layer) return &entry.part;
  }
  return nullptr;
}

std::string ScheduledLayers::waits_for() const {
  for (const int index : row_) {
    if (index < 0) continue;  // exact, or of a branch
    const auto method = static_cast<size_t>(index);
    const auto why = approx::waits_for(*prototypes_[method]);
    if (!why.empty()) return fmt::format("{} waits for {}", schedule_.methods()[method], why);
  }
  return "";
}

HostCounts ScheduledLayers::host_counts() {
  HostCounts counts;
  for (auto& entry : layers_) {
    for (auto& of_method : entry.approximated) {
      for (auto& count : of_method) {
        counts.whole.push_back(&count.calls);
        counts.real.insert(counts.real.end(),
                           {&count.dense_macs, &count.host_macs, &count.entries, &count.host_kept});
      }
    }
    for (auto& macs : entry.exact_macs) counts.real.push_back(&macs);
    for (const auto product : kAllProducts) {
      for (size_t i = 0; i < VariantCounts::kMost; ++i) {
        counts.whole.push_back(&entry.variants.of(product).calls(i));
      }
    }
  }
  return counts;
}

bool ScheduledLayers::observe(double accuracy, int64_t steps_done) {
  observed_.emplace_back(accuracy, steps_done);
  return schedule_.observe(accuracy, steps_done);
}

std::vector<ScheduledLayers::Density> ScheduledLayers::take_densities() {
  std::vector<Density> densities;
  for (auto& entry : layers_) {
    for (const auto product : kAllProducts) {
      const auto p = static_cast<size_t>(product);
      double kept = 0, entries = 0;
      for (const auto& counts : entry.approximated) {
        if (counts[p].entries == 0) continue;
        kept += counts[p].kept();
        entries += counts[p].entries;
      }
      const double more = entries - entry.seen_entries[p];
      if (more == 0) continue;
      densities.push_back({entry.layer->info.name, product, (kept - entry.seen_kept[p]) / more});
      entry.seen_kept[p] = kept;
      entry.seen_entries[p] = entries;
    }
  }
  return densities;
}

std::optional<double> ScheduledLayers::take_gradient_density() {
  double nonzero = 0, entries = 0;
  for (auto& entry : layers_) {
    const auto count = std::exchange(entry.gradient, {});
    if (!count.nonzero.defined()) continue;
    nonzero += static_cast<double>(count.nonzero.item<int64_t>());
    entries += static_cast<double>(count.entries);
  }
  return entries > 0 ? std::optional(nonzero / entries) : std::nullopt;
}

ScheduledLayers::VariantCalls ScheduledLayers::PerLayer::variant_calls(Product product) const {
  VariantCalls calls = earlier_variants[static_cast<size_t>(product)];
  for (const auto& entry : variants.of(product).entries()) {
    calls[{std::string(entry.plan), std::string(entry.variant)}] += entry.calls;
  }
  return calls;
}

std::vector<Json> ScheduledLayers::events() const {
  std::vector<Json> events;
  for (const auto& entry : layers_) {
    const auto* layer = entry.layer;
    for (const auto product : kAllProducts) {
      const auto p = static_cast<size_t>(product);
      const auto event_of = [&](const char* kind) {
        return Json{{"event", kind}, {"layer", layer->info.name}, {"product", name(product)}};
      };
      const int64_t exact_calls = entry.exact[p];
      const auto add = [&](const std::string& method, int64_t calls, double dense, double done,
                           Json density) {
        Json event = event_of("layer");
        event.update({{"method", method},
                      {"calls", calls},
                      {"exact_calls", exact_calls},
                      {"macs_dense", dense},
                      {"macs_done", done},
                      {"density", std::move(density)}});
        events.push_back(std::move(event));
      };
      for (size_t m = 0; m < entry.approximated.size(); ++m) {
        const auto& count = entry.approximated[m][p];
        if (count.calls == 0) continue;
        const Json density = count.entries == 0 ? Json() : Json(count.density());
        add(schedule_.methods()[m], count.calls, count.dense_macs, count.macs(), density);
      }
      if (exact_calls > 0) {
        add(std::string(kDense), exact_calls, entry.exact_macs[p], entry.exact_macs[p], Json());
      }
      for (const auto& [computed, calls] : entry.variant_calls(product)) {
        Json event = event_of("variant");
        event.update({{"plan", computed.first}, {"variant", computed.second}, {"calls", calls}});
        events.push_back(std::move(event));
      }
    }
  }
  return events;
}

}  // namespace approx
