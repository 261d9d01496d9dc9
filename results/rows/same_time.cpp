#include "results/rows/same_time.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/error.h"
#include "core/experiment/iso_time.h"

namespace approx {
namespace {

constexpr double kRounding = 1e-9;  // epochs

struct Control {
  const Row* row = nullptr;
  double epochs = 0;    // that it was trained, by its steps: the shortest of its runs
  double longest = 0;   // the longest of them
  bool enough = false;  // no less than the method may take
};

// The dense rows that are shortened as controls are; `recipe`: of the row's own dense row. One
// serves all methods that leave it the same epochs, so it goes by its recipe and not by the name in
// its label.
std::vector<Control> controls_of(const RowSet& set, const Row& row, const Recipe& recipe) {
  std::vector<Control> controls;
  for (const auto& other : set.rows()) {
    const Cell& cell = *other.first;
    if (!cell.method_label.starts_with(kIsoTimePrefix) || other.accuracy.n == 0 ||
        !same_but_recipe(cell, *row.first)) {
      continue;
    }
    const Recipe& its = cell.config.recipe;
    if (shortened_like(recipe, its) != its) continue;
    const auto trained = trained_epochs(other);
    controls.push_back({.row = &other, .epochs = trained.least, .longest = trained.most});
  }
  return controls;
}

// The one that is as short as the row is fast. The shortest of those that have as long as the row
// may take, and a fiftieth of the training more at most; without any the longest of those that have
// less, by a fiftieth at most: a speedup that is measured again moves a little.
Control control_row(const std::vector<Control>& controls, const Recipe& recipe, double wanted) {
  const double tolerance = length_in_epochs(recipe) / 50;
  Control best;
  for (auto control : controls) {
    if (std::abs(control.epochs - wanted) > tolerance) continue;
    control.enough = control.epochs >= wanted - kRounding;
    const bool better = control.enough != best.enough ? control.enough
                        : control.enough              ? control.epochs < best.epochs
                                                      : control.epochs > best.epochs;
    if (best.row == nullptr || better) best = control;
  }
  return best;
}

// The longest of those that have no more than `most` epochs; null where all have more.
const Control* longest_within(const std::vector<Control>& controls, double most) {
  const Control* longest = nullptr;
  for (const auto& control : controls) {
    if (control.longest > most + kRounding) continue;
    if (longest == nullptr || control.longest > longest->longest) longest = &control;
  }
  return longest;
}

// The first evaluation at `epochs` or later; the end where there is none.
auto evaluation_at(const std::vector<CurvePoint>& curve, double epochs) {
  return std::find_if(curve.begin(), curve.end(),
                      [&](const CurvePoint& point) { return point.epoch >= epochs - kRounding; });
}

// The last evaluation at `epochs` or sooner; null where there is none.
const CurvePoint* evaluation_within(const std::vector<CurvePoint>& curve, double epochs) {
  const auto after = std::find_if(curve.begin(), curve.end(), [&](const CurvePoint& point) {
    return point.epoch > epochs + kRounding;
  });
  return after == curve.begin() ? nullptr : &*std::prev(after);
}

void count_reached(const std::vector<CurvePoint>& judged, double epochs,
                   const std::optional<double>& target, SameTime& result) {
  if (!target || judged.empty()) return;
  ++result.tried;
  auto end = evaluation_at(judged, epochs);
  if (end != judged.end()) ++end;
  result.reached += std::any_of(judged.begin(), end,
                                [&](const CurvePoint& point) { return point.value >= *target; });
}

// Of exact training in the time of a method, by the two ends of its speedup's interval. None that
// it surely takes where no verdict may rest on that.
struct Epochs {
  double may_take = 0, surely_takes = 0;
};

// In the curves of the dense runs.
SameTime in_curves(const Row& row, const Epochs& epochs, const std::optional<double>& target) {
  SameTime result{.source = SameTimeSource::kCurves, .epochs = epochs.may_take, .enough = true};
  std::vector<double> advantages, sooner;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const Cell* dense = partner(row.dense, *cell, Machine::kAny);
    const auto ours = cell->final_accuracy();
    if (dense == nullptr || !ours || !dense->final_accuracy()) continue;
    const auto& tests = dense->run()->measured->evaluations("test");
    if (const auto* within = evaluation_within(tests, epochs.surely_takes)) {
      result.sooner_trained = within->epoch;
      sooner.push_back(100 * within->value - *ours);
    }
    const auto at = evaluation_at(tests, epochs.may_take);
    if (at == tests.end()) continue;
    result.trained = at->epoch;
    result.mark(*cell->run(), *dense->run());
    advantages.push_back(100 * at->value - *ours);
    count_reached(dense->judged(), epochs.may_take, target, result);
  }
  result.advantage = paired_difference(advantages);
  result.sooner = paired_difference(sooner);
  return result;
}

}  // namespace

bool same_but_recipe(const Cell& a, const Cell& b) {
  static const std::set<std::string> of_recipe = [] {
    std::set<std::string> names;
    for (const auto& spec : recipe_specs()) names.insert(spec.name);
    return names;
  }();
  const auto others = [](const Cell& cell) {
    Settings settings;
    for (const auto& setting : cell.settings) {
      if (!of_recipe.contains(setting.first) && setting.first != "graphs") {
        settings.push_back(setting);
      }
    }
    return settings;
  };
  return a.config.network == b.config.network && a.config.dataset == b.config.dataset &&
         others(a) == others(b);
}

TrainedEpochs trained_epochs(const Row& row) {
  TrainedEpochs trained;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const auto& tests = run->measured->evaluations("test");
    if (tests.empty()) continue;
    const double epochs = tests.back().epoch;
    trained.least = trained.least == 0 ? epochs : std::min(trained.least, epochs);
    trained.most = std::max(trained.most, epochs);
  }
  return trained;
}

void SameTime::mark(const Run& method, const Run& exact) {
  other_machines |= method.host_id != exact.host_id;
  other_builds |= !same_build(method, exact);
}

SameTime same_time(const RowSet& set, const Row& row, std::optional<double> target) {
  if (row.dense == nullptr || row.dense == &row || row.speedup.n == 0) return {};
  const Recipe& recipe = row.dense->first->config.recipe;
  const double least = row.speedup.least();
  if (least <= 1) return {};
  const double length = length_in_epochs(recipe);
  const bool is_sure = row.speedup.hi && speedup_obstacle(row).empty();
  const Epochs epochs{.may_take = length / least,
                      .surely_takes = is_sure ? length / *row.speedup.hi : 0};
  if (is_prefix_of_longer(recipe)) return in_curves(row, epochs, target);
  const auto controls = controls_of(set, row, recipe);
  const auto control = control_row(controls, recipe, epochs.may_take);
  if (control.row == nullptr) return {};
  SameTime result{.source = SameTimeSource::kRuns,
                  .row = control.row,
                  .epochs = epochs.may_take,
                  .trained = control.epochs,
                  .enough = control.enough};
  result.advantage = paired_difference(losses(row, *control.row));
  if (const auto* sooner = longest_within(controls, epochs.surely_takes)) {
    result.sooner_trained = sooner->longest;
    result.sooner = paired_difference(losses(row, *sooner->row));
  }
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const Cell* exact = partner(control.row, *cell, Machine::kAny);
    if (exact != nullptr) result.mark(*run, *exact->run());
  }
  for (const auto& [cell, run] : accuracy_runs(*control.row, /*diverged=*/false)) {
    count_reached(cell->judged(), control.epochs, target, result);
  }
  return result;
}

}  // namespace approx
