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

void Schedule::for_each_situation(const std::function<bool(const Situation&)>& use) const {
  for (uint64_t reached = 0; reached < uint64_t{1} << plateaus_.size(); ++reached) {
    const auto rules = rules_after(reached);
    for (size_t layer = 0; layer < layers_.size(); ++layer) {
      std::vector<size_t> candidates;
      for (size_t r = 0; r < rules.size(); ++r) {
        if (rules[r].layers.at(layer) && rules[r].from < rules[r].until) candidates.push_back(r);
      }
      for (int64_t rank = 0; rank < (tells_ranks_apart_ ? ranks_ : 1); ++rank) {
        if (!use({layer, rules, of_rank(rules, candidates, rank)})) return;
      }
    }
  }
}

std::string Schedule::name_of(size_t rule, const std::vector<std::string>& names) const {
  return names.empty() ? fmt::format("rule {} (layers = {})", rule + 1, quote(rules_[rule].text))
                       : names.at(rule);
}

void Schedule::check_together(const std::vector<std::string>& names) const {
  const bool samples = std::ranges::find(one_sample_, true) != one_sample_.end();
  if (!samples && !stops_any()) return;
  if (plateaus_.size() > kMostPlateaus) {
    throw usage_error("the rules wait for {} different plateaus; at most {} are possible",
                      plateaus_.size(), kMostPlateaus);
  }
  for_each_situation([&](const Situation& situation) {
    if (situation.candidates.size() > 1) {
      check_situation(situation, names);
      check_branch(situation, names);
    }
    return true;
  });
}

void Schedule::check_situation(const Situation& situation,
                               const std::vector<std::string>& names) const {
  const size_t layer = situation.layer;
  const auto& rules = situation.rules;
  const auto& candidates = situation.candidates;
  const auto samples = [&](size_t rule) {
    const int method = rules[rule].method_at(layer);
    return method >= 0 && one_sample_.at(static_cast<size_t>(method));
  };
  if (std::none_of(candidates.begin(), candidates.end(), samples)) return;
  for (const int64_t step : steps_to_check(rules, candidates)) {
    const auto deciders = deciding(rules, candidates, step);
    for (const int decider : deciders) {
      const auto sampling = static_cast<size_t>(decider);
      if (decider < 0 || !samples(sampling)) continue;
      const int method = rules[sampling].method_at(layer);
      for (const auto product : rules[sampling].products) {
        // A rule of such a method has all of its products, so only a later one can take one away.
        const auto other = static_cast<size_t>(deciders[static_cast<size_t>(product)]);
        if (rules[other].method_at(layer) == method) continue;
        throw usage_error(
            "{} and {} overlap on {} at step {}: {} needs all its products, but {} goes to {}; use "
            "one rule or fewer products",
            name_of(other, names), name_of(sampling, names), layers_[layer].name, step,
            method_text(method), name(product), method_text(rules[other].method_at(layer)));
      }
    }
  }
}

void Schedule::check_branch(const Situation& situation,
                            const std::vector<std::string>& names) const {
  const auto& rules = situation.rules;
  const auto& candidates = situation.candidates;
  const auto stops = [&](size_t rule) { return rules[rule].stops; };
  if (std::ranges::none_of(candidates, stops)) return;
  for (const int64_t step : steps_to_check(rules, candidates)) {
    int stopping = -1;
    for (const size_t r : candidates) {
      if (!rules[r].holds(step)) continue;
      if (rules[r].stops) {
        stopping = static_cast<int>(r);
        continue;
      }
      const bool meets = std::ranges::any_of(
          rules[r].products, [](Product product) { return product != Product::kForward; });
      if (stopping < 0 || !meets) continue;
      const auto stopped = static_cast<size_t>(stopping);
      throw usage_error(
          "{} takes {} out of the branch that {} stops at step {}; put the rule of {} last",
          name_of(r, names), layers_[situation.layer].name, name_of(stopped, names), step,
          method_text(rules[stopped].method));
    }
  }
}

void Schedule::check_acts() const {
  if (plateaus_.size() > kMostPlateaus) return;  // too many to look at, and some will come
  bool any = false;
  for_each_situation([&](const Situation& situation) {
    any = acts(situation);
    return !any;
  });
  if (!any) throw usage_error("the schedule approximates nothing in this run: {}", why_idle());
}

bool Schedule::acts(const Situation& situation) const {
  const size_t layer = situation.layer;
  const auto& rules = situation.rules;
  const auto& candidates = situation.candidates;
  for (const int64_t step : steps_to_check(rules, candidates)) {
    const auto deciders = deciding(rules, candidates, step);
    for (const auto product : kAllProducts) {
      const int rule = deciders[static_cast<size_t>(product)];
      if (rule < 0 || rules[static_cast<size_t>(rule)].method_at(layer) < 0) continue;
      if (computes(layer, product)) return true;
    }
  }
  return false;
}

std::string Schedule::why_idle() const {
  for (size_t r = 0; r < rules_.size(); ++r) {
    const auto& rule = rules_[r];
    if (rule.method < 0) continue;
    const auto text = fmt::format("rule {} (layers = {})", r + 1, quote(rule.text));
    const int64_t first =
        std::max({rule.from, rule.steps.start, rule.epochs.start * rule.epoch_steps});
    if (rule.from != kUnknownStep && first >= total_steps_) {
      return fmt::format("{} begins with step {}, and the last one is {}", text, first,
                         total_steps_ - 1);
    }
    bool exact = true;
    for (size_t i = 0; i < layers_.size(); ++i) exact &= !rule.layers[i] || rule.exact[i];
    if (exact)
      return fmt::format("{} leaves all layers of {} exact", method_text(rule.method), text);
    return fmt::format("{} has no step, or other rules have its layers", text);
  }
  return "no rule has a method other than dense";
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
    period = together(together(period, rule.steps.step, most), rule.epochs_period(), most);
    const auto of_epoch = [&](int64_t epoch) {
      return std::max<int64_t>(-1, epoch) * rule.epoch_steps;
    };
    for (const int64_t edge : {rule.from, rule.until, rule.steps.start, rule.steps.stop,
                               of_epoch(rule.epochs.start), of_epoch(rule.epochs.stop)}) {
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

std::string Schedule::method_text(int method) const {
  return method < 0 ? std::string(kDense) : methods_.at(static_cast<size_t>(method));
}

}  // namespace approx
