// Whether the rules of a schedule, each of which may be right by itself, go together where they
// overlap.
#include <algorithm>
#include <numeric>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "core/config/dense.h"
#include "core/config/schedule.h"

namespace approx {
namespace {

// Steps of a period that are looked at. Longer ones come of rules whose steps have large and
// coprime distances.
constexpr int64_t kMostSteps = 1'000'000;

constexpr size_t kMostPlateaus = 8;

}  // namespace

void Schedule::check_together(const std::vector<std::string>& names) const {
  if (std::find(one_sample_.begin(), one_sample_.end(), true) == one_sample_.end()) return;
  if (plateaus_.size() > kMostPlateaus) {
    throw usage_error("the rules wait for {} different plateaus; at most {}", plateaus_.size(),
                      kMostPlateaus);
  }
  for (uint64_t reached = 0; reached < uint64_t{1} << plateaus_.size(); ++reached) {
    const auto rules = rules_after(reached);
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      std::vector<size_t> candidates;
      bool any = false;
      for (size_t r = 0; r < rules.size(); ++r) {
        const auto& rule = rules[r];
        if (!rule.layers.at(layer) || rule.from >= rule.until) continue;
        candidates.push_back(r);
        any |= rule.method >= 0 && one_sample_.at(static_cast<size_t>(rule.method));
      }
      if (!any) continue;
      for (int64_t rank = 0; rank < (tells_ranks_apart_ ? ranks_ : 1); ++rank) {
        const auto own = of_rank(rules, candidates, rank);
        if (own.size() > 1) check_layer(layer, rules, own, names);
      }
    }
  }
}

void Schedule::check_layer(size_t layer, const std::vector<Compiled>& rules,
                           const std::vector<size_t>& candidates,
                           const std::vector<std::string>& names) const {
  const auto name_of = [&](size_t rule) {
    return names.empty() ? fmt::format("rule {} (layers = {})", rule + 1, quote(rules[rule].text))
                         : names.at(rule);
  };
  for (const int64_t step : steps_to_check(rules, candidates)) {
    const auto deciders = deciding(rules, candidates, step);
    for (const int sampling : deciders) {
      if (sampling < 0) continue;
      const auto& rule = rules[static_cast<size_t>(sampling)];
      if (rule.method < 0 || !one_sample_.at(static_cast<size_t>(rule.method))) continue;
      for (const auto product : rule.products) {
        // A rule of such a method has all of its products, so only a later one can take one away.
        const auto other = static_cast<size_t>(deciders[static_cast<size_t>(product)]);
        if (rules[other].method == rule.method) continue;
        throw usage_error(
            "{} and {} overlap on {} at step {}: {} draws one sample for all its products, and its "
            "{} goes to {}; leave the layer to one of the rules, or take a mode of fewer products",
            name_of(other), name_of(static_cast<size_t>(sampling)), layers_[layer].name, step,
            method_of(rule), name(product), method_of(rules[other]));
      }
    }
  }
}

Schedule::Deciding Schedule::deciding(const std::vector<Compiled>& rules,
                                      const std::vector<size_t>& candidates, int64_t step) {
  Deciding deciders = {-1, -1, -1};
  for (const size_t r : candidates) {
    if (!rules[r].holds(step)) continue;
    for (const auto product : rules[r].products) {
      deciders[static_cast<size_t>(product)] = static_cast<int>(r);
    }
  }
  return deciders;
}

std::vector<size_t> Schedule::of_rank(const std::vector<Compiled>& rules,
                                      const std::vector<size_t>& candidates, int64_t rank) {
  std::vector<size_t> own;
  for (const size_t r : candidates) {
    if (rules[r].ranks.contains(rank)) own.push_back(r);
  }
  return own;
}

std::vector<Schedule::Compiled> Schedule::rules_after(uint64_t plateaus) const {
  auto rules = rules_;
  for (size_t p = 0; p < plateaus_.size(); ++p) {
    const bool reached = (plateaus >> p & 1) != 0;
    for (const size_t rule : plateaus_[p].begin) rules[rule].from = reached ? 0 : kUnknownStep;
    for (const size_t rule : plateaus_[p].end) rules[rule].until = reached ? 0 : kUnknownStep;
  }
  return rules;
}

std::vector<int64_t> Schedule::steps_to_check(const std::vector<Compiled>& rules,
                                              const std::vector<size_t>& candidates) const {
  const int64_t total = std::max<int64_t>(total_steps_, 1);
  const int64_t most = std::min(total, kMostSteps);
  int64_t period = 1;
  std::set<int64_t> edges = {0};
  for (const size_t r : candidates) {
    const auto& rule = rules[r];
    const int64_t factor = rule.steps.step / std::gcd(period, rule.steps.step);
    period = factor > most / period ? most : period * factor;
    for (const int64_t edge : {rule.from, rule.until, rule.steps.start, rule.steps.stop}) {
      if (edge > 0 && edge < total) edges.insert(edge);
    }
  }
  edges.insert(total);
  std::vector<int64_t> steps;
  for (auto edge = edges.begin(); std::next(edge) != edges.end(); ++edge) {
    const int64_t end = std::min(*edge + period, *std::next(edge));
    for (int64_t step = *edge; step < end; ++step) steps.push_back(step);
  }
  return steps;
}

std::string Schedule::method_of(const Compiled& rule) const {
  return rule.method < 0 ? std::string(kDense) : methods_.at(static_cast<size_t>(rule.method));
}

}  // namespace approx
