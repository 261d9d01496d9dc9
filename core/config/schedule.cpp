#include "core/config/schedule.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "core/config/block_rates.h"
#include "core/config/dense.h"
#include "core/config/layer_selector.h"
#include "core/config/slice.h"

namespace approx {
namespace {

// Throws Error(kUsage) where there is none of them.
Slice ranks_of(const Rule& rule, int64_t ranks) {
  const Slice slice = parse_ranks(rule.ranks);
  if (slice.start < ranks) return slice;
  throw usage_error("ranks = {}: the run has {}, numbered from 0; there is no rank {}",
                    quote(rule.ranks), ranks == 1 ? "one rank" : fmt::format("{} ranks", ranks),
                    slice.start);
}

// Which layers a method, a full text, leaves exact.
std::vector<bool> exact_layers(const std::string& method, const std::vector<LayerInfo>& layers,
                               const Catalogue& catalogue) {
  std::vector<bool> exact(layers.size(), false);
  if (is_dense(method)) return exact;
  const int64_t least =
      catalogue.method(parse_spec(method).name).least_channels(catalogue.method_params(method));
  for (size_t i = 0; i < layers.size(); ++i) {
    exact[i] = layers[i].in_channels < least || layers[i].frozen;
  }
  return exact;
}

}  // namespace

Schedule::Schedule(const std::vector<Rule>& rules, const std::vector<LayerInfo>& layers,
                   std::string_view method, const Catalogue& catalogue, int64_t steps_per_epoch,
                   int64_t total_steps, int64_t ranks, uint64_t seed)
    : layers_(layers), draws_(seed), total_steps_(total_steps), ranks_(ranks) {
  for (const auto& rule : rules) {
    check_rule(rule, catalogue);
    Compiled compiled;
    compiled.text = rule.layers;
    const std::string text = resolved_method(rule, method, catalogue);
    compiled.products = resolved_products(rule, text, catalogue);
    compiled.layers = select_layers(rule.layers, layers);
    compiled.steps = parse_steps(rule.steps);
    compiled.ranks = ranks_of(rule, ranks);
    compiled.epochs = parse_epochs(rule.epochs);
    compiled.epoch_steps = std::max<int64_t>(steps_per_epoch, 1);
    compiled.rate = parse_rate(rule.rate);
    bool is_of_all = true;
    for (int64_t rank = 0; rank < ranks; ++rank) is_of_all &= compiled.ranks.contains(rank);
    tells_ranks_apart_ |= !is_of_all;
    compiled.stops = approx::stops_blocks(text, catalogue);
    if (compiled.stops) {
      if (!is_of_all) {
        throw usage_error(
            "ranks = {}: {} stops a branch on all ranks or on none, whose gradients would not "
            "match "
            "else; leave ranks out",
            quote(rule.ranks), text);
      }
      compiled.layers = whole_branches(compiled.layers, rule, text);
    }
    compiled.by_sensitivity = is_by_sensitivity(rule.rates);
    if (compiled.by_sensitivity) {
      check_rates(rule, text, compiled.stops);
      waits_for_sensitivities_ = true;
    }
    if (!rule.chance.empty()) {
      compiled.patterns = parse_chance(rule.chance);
      draw(compiled, rules_.size());
    }
    compiled.from = 0;
    compiled.until = kUnknownStep;
    if (!rule.from.empty()) {
      const auto from = parse_position(rule.from);
      compiled.from = from.step(steps_per_epoch, total_steps);
      if (from.unit == Position::Unit::kPlateau) plateau_of(from).begin.push_back(rules_.size());
    }
    if (!rule.until.empty()) {
      const auto until = parse_position(rule.until);
      compiled.until = until.step(steps_per_epoch, total_steps);
      if (until.unit == Position::Unit::kPlateau) plateau_of(until).end.push_back(rules_.size());
    }
    if (compiled.until <= compiled.from && compiled.from != kUnknownStep) {
      throw usage_error("from = {}, until = {}: the rule ends (step {}) before it begins (step {})",
                        quote(rule.from), quote(rule.until), compiled.until, compiled.from);
    }
    compiled.method = Decision::kDense;
    if (!is_dense(text)) {
      const auto found = std::find(methods_.begin(), methods_.end(), text);
      compiled.method = static_cast<int>(found - methods_.begin());
      if (found == methods_.end()) {
        methods_.push_back(text);
        one_sample_.push_back(draws_one_sample(text, catalogue));
        stops_.push_back(compiled.stops);
      }
    }
    compiled.exact = exact_layers(text, layers, catalogue);
    // A period beyond the run's end never comes round; the cap also keeps the product in range.
    const int64_t cap = std::max<int64_t>(total_steps, 1);
    period_ = together(period_, compiled.steps.step, cap);
    period_ = together(period_, compiled.epochs_period(), cap);
    if (!rule.chance.empty()) period_ = together(period_, StepDraws::kPatterns, cap);
    rules_.push_back(std::move(compiled));
  }
}

int64_t Schedule::together(int64_t period, int64_t other, int64_t cap) {
  const int64_t factor = other / std::gcd(period, other);
  return factor > cap / period ? cap : period * factor;
}

std::vector<bool> Schedule::whole_branches(const std::vector<bool>& selected, const Rule& rule,
                                           const std::string& method) const {
  std::map<std::string, std::pair<size_t, size_t>> blocks;  // selected layers, and all
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].block.empty()) continue;
    auto& [chosen, all] = blocks[layers_[i].block];
    chosen += selected[i] ? 1 : 0;
    ++all;
  }
  if (blocks.empty()) throw usage_error("{}: the network has no residual blocks", method);
  bool any = false;
  for (const auto& [block, counts] : blocks) {
    const auto [chosen, all] = counts;
    any |= chosen > 0;
    if (chosen == 0 || chosen == all) continue;
    throw usage_error(
        "layers = {}: {} stops whole blocks, and that is a part of {}; write block={}",
        quote(rule.layers), method, block, block);
  }
  if (!any) {
    throw usage_error(
        "layers = {}: no layer of a residual branch, and {} stops those; write "
        "block=GLOB, such as block={}",
        quote(rule.layers), method, blocks.begin()->first);
  }
  std::vector<bool> branches(layers_.size(), false);
  for (size_t i = 0; i < layers_.size(); ++i)
    branches[i] = selected[i] && !layers_[i].block.empty();
  return branches;
}

void Schedule::check_rates(const Rule& rule, const std::string& method, bool stops) const {
  const auto refused = [&](const std::string& why) {
    return usage_error("rates = {}: {}", quote(rule.rates), why);
  };
  if (!stops) throw refused(fmt::format("{} stops no blocks; leave rates out", method));
  if (rule.chance.empty()) throw refused("there is no chance to share out; add chance = 0.5");
  if (ranks_ > 1) {
    throw refused(
        fmt::format("one rank alone can measure, and the run has {}; leave rates out", ranks_));
  }
}

void Schedule::draw(Compiled& rule, size_t number,
                    const std::map<std::string, int64_t>& rates) const {
  std::map<std::string, uint64_t> of_blocks;
  rule.drawn.clear();
  for (size_t i = 0; i < layers_.size(); ++i) {
    const auto own = rates.find(layers_[i].block);
    const auto drawn = draws_.mask(number, i, own == rates.end() ? rule.patterns : own->second);
    // A branch has the draw of its first layer.
    rule.drawn.push_back(rule.stops ? of_blocks.try_emplace(layers_[i].block, drawn).first->second
                                    : drawn);
  }
}

Decision Schedule::at(size_t layer, int64_t step, int64_t rank) const {
  Decision decision;
  const int64_t pattern = draws_.pattern(step);
  for (const auto& rule : rules_) {
    if (!rule.layers.at(layer) || !rule.holds(step) || !rule.ranks.contains(rank)) continue;
    const bool drawn = rule.draws(layer, pattern);
    if (!drawn && !rule.stops) continue;
    for (const auto product : rule.products) {
      int& method = decision.method[static_cast<size_t>(product)];
      if (drawn) {
        method = rule.method_at(layer);
      } else if (stops_blocks(method)) {
        method = Decision::kDense;  // this rule decides alone which branches stop
      }
    }
  }
  return decision;
}

double Schedule::rate_at(int64_t step) const {
  double rate = 1;
  for (const auto& rule : rules_) {
    if (rule.rate != 1 && rule.holds(step)) rate = rule.rate;
  }
  return rate;
}

BranchDecision Schedule::branch_at(std::string_view block, int64_t step) const {
  BranchDecision decision;
  const auto first = std::ranges::find(layers_, block, &LayerInfo::block);
  if (first == layers_.end()) return decision;
  const auto layer = static_cast<size_t>(first - layers_.begin());
  const int64_t pattern = draws_.pattern(step);
  for (size_t r = 0; r < rules_.size(); ++r) {
    const auto& rule = rules_[r];
    if (!rule.stops || !rule.layers.at(layer) || !rule.holds(step)) continue;
    decision = {.rule = static_cast<int>(r),
                .method = rule.method,
                .stopped = rule.draws(layer, pattern),
                .chance = rule.chance(layer)};
  }
  return decision;
}

int64_t Schedule::backward_macs(std::string_view block) const {
  int64_t sum = 0;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (layers_[i].block != block) continue;
    for (const auto product : {Product::kDataGradient, Product::kWeightGradient}) {
      if (computes(i, product)) sum += layers_[i].macs;
    }
  }
  return std::max<int64_t>(sum, 1);
}

std::vector<std::string> Schedule::measured_blocks() const {
  std::vector<std::string> blocks;
  for (size_t i = 0; i < layers_.size(); ++i) {
    const bool is_measured = std::ranges::any_of(
        rules_, [i](const Compiled& rule) { return rule.by_sensitivity && rule.layers.at(i); });
    if (!is_measured || std::ranges::find(blocks, layers_[i].block) != blocks.end()) continue;
    blocks.push_back(layers_[i].block);
  }
  return blocks;
}

void Schedule::set_sensitivities(const std::map<std::string, double>& of_blocks) {
  waits_for_sensitivities_ = false;
  for (size_t r = 0; r < rules_.size(); ++r) {
    auto& rule = rules_[r];
    if (!rule.by_sensitivity) continue;
    std::vector<std::string> blocks;
    std::vector<BlockWorth> worth;
    for (size_t i = 0; i < layers_.size(); ++i) {
      const auto& block = layers_[i].block;
      if (!rule.layers[i] || std::ranges::find(blocks, block) != blocks.end()) continue;
      blocks.push_back(block);
      worth.push_back({.sensitivity = of_blocks.at(block), .work = backward_macs(block)});
    }
    const auto shared = rates_by_sensitivity(worth, rule.patterns);
    std::map<std::string, int64_t> rates;
    for (size_t i = 0; i < blocks.size(); ++i) rates[blocks[i]] = shared[i];
    draw(rule, r, rates);
  }
}

double Schedule::block_chance(std::string_view block) const {
  const auto layer =
      static_cast<size_t>(std::ranges::find(layers_, block, &LayerInfo::block) - layers_.begin());
  double chance = 0;
  for (const auto& rule : rules_) {
    if (rule.by_sensitivity && rule.layers.at(layer)) chance = rule.chance(layer);
  }
  return chance;
}

Decision Schedule::computed_at(size_t layer, int64_t step, int64_t rank) const {
  Decision decision = at(layer, step, rank);
  for (const auto product : kAllProducts) {
    if (!computes(layer, product)) {
      decision.method[static_cast<size_t>(product)] = Decision::kDense;
    }
  }
  return decision;
}

bool Schedule::computes(size_t layer, Product product) const {
  return layers_[layer].computes(product);
}

Schedule::Plateau& Schedule::plateau_of(const Position& position) {
  for (auto& plateau : plateaus_) {
    if (plateau.position == position) return plateau;
  }
  plateaus_.push_back({.position = position, .begin = {}, .end = {}});
  return plateaus_.back();
}

bool Schedule::observe(double accuracy, int64_t steps_done) {
  bool any = false;
  for (auto& plateau : plateaus_) {
    if (plateau.reached) continue;
    // Written so that a NaN is no gain.
    if (accuracy > plateau.best + plateau.position.delta) {
      plateau.best = accuracy;
      plateau.without_gain = 0;
      continue;
    }
    if (++plateau.without_gain < plateau.position.patience) continue;
    any = plateau.reached = true;
    for (const size_t rule : plateau.begin) rules_[rule].from = steps_done;
    for (const size_t rule : plateau.end) rules_[rule].until = steps_done;
  }
  return any;
}

double Schedule::approximated_share(int64_t steps) const {
  int64_t convolutions = 0;
  int64_t approximated = 0;
  const int64_t unlike_ranks = tells_ranks_apart_ ? ranks_ : 1;
  for (size_t i = 0; i < layers_.size(); ++i) {
    if (!layers_[i].is_conv()) continue;
    ++convolutions;
    for (int64_t rank = 0; rank < unlike_ranks; ++rank) {
      for (int64_t step = 0; step < steps; ++step) {
        approximated += computed_at(i, step, rank).dense() ? 0 : 1;
      }
    }
  }
  if (convolutions == 0 || steps <= 0) return 0;
  return static_cast<double>(approximated) /
         static_cast<double>(convolutions * steps * unlike_ranks);
}

}  // namespace approx
