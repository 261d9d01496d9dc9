#include "results/reports/same_time.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "core/experiment/iso_time.h"

namespace approx {
namespace {

// None for the recipe of another version of the program.
std::optional<Recipe> recipe_of(const Cell& cell) {
  const Json json = Json::parse(cell.recipe, nullptr, /*allow_exceptions=*/false);
  Recipe recipe;
  try {
    from_json(json, recipe);
  } catch (const Error&) {
    return std::nullopt;
  }
  return recipe;
}

// Whether two cells differ in nothing but method and recipe.
bool same_but_recipe(const Cell& a, const Cell& b) {
  const auto others = [](const Cell& cell) {
    Settings settings;
    for (const auto& setting : cell.settings) {
      const auto& specs = recipe_specs();
      const bool of_recipe = std::any_of(
          specs.begin(), specs.end(), [&](const auto& spec) { return spec.name == setting.first; });
      if (!of_recipe) settings.push_back(setting);
    }
    return settings;
  };
  return a.network == b.network && a.dataset == b.dataset && others(a) == others(b);
}

struct Control {
  const Row* row = nullptr;
  double epochs = 0;
};

// The dense row that is as short as the row is fast; `recipe`: of the row's own dense row. One
// serves all methods that leave it the same epochs, so it goes by its recipe and not by the name in
// its label; and a speedup that is measured again moves a little, so the nearest one will do.
Control control_row(const RowSet& set, const Row& row, const Recipe& recipe) {
  const double length = length_in_epochs(recipe), wanted = length / row.speedup.ratio;
  const auto distance = [=](const Control& control) { return std::abs(control.epochs - wanted); };
  Control nearest;
  for (const auto& other : set.rows()) {
    const Cell& cell = *other.first;
    if (!cell.method_label.starts_with(kIsoTimePrefix) || other.accuracy.n == 0 ||
        !same_but_recipe(cell, *row.first)) {
      continue;
    }
    const auto its = recipe_of(cell);
    if (!its || shortened_like(recipe, *its) != *its) continue;
    const Control control{&other, length_in_epochs(*its)};
    if (nearest.row == nullptr || distance(control) < distance(nearest)) nearest = control;
  }
  // Older ones are as many whole epochs as were nearest.
  const bool whole = nearest.epochs == std::floor(nearest.epochs);
  const double tolerance = std::max(whole ? 0.5 : 0.0, length / 50);
  return nearest.row != nullptr && distance(nearest) <= tolerance ? nearest : Control();
}

// The first evaluation at `epochs` or later; the end where there is none.
auto evaluation_at(const std::vector<CurvePoint>& curve, double epochs) {
  return std::find_if(curve.begin(), curve.end(),
                      [&](const CurvePoint& point) { return point.epoch >= epochs - 1e-9; });
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

// In the curves of the dense runs.
SameTime in_curves(const RowSet& set, const Row& row, double epochs,
                   const std::optional<double>& target) {
  SameTime result{.source = SameTimeSource::kCurves, .epochs = epochs};
  std::vector<double> advantages;
  for (const auto& [cell, run] : accuracy_runs(row, /*diverged=*/false)) {
    const Cell* dense = partner(row.dense, *cell, Machine::kAny);
    const auto ours = set.final_accuracy(*cell);
    if (dense == nullptr || !ours || !set.final_accuracy(*dense)) continue;
    const auto& tests = set.evaluations(*dense->run(), "test");
    const auto at = evaluation_at(tests, epochs);
    if (at == tests.end()) continue;
    result.trained = at->epoch;
    advantages.push_back(100 * at->value - *ours);
    count_reached(set.judged(*dense, *dense->run()), epochs, target, result);
  }
  result.advantage = paired_difference(advantages);
  return result;
}

}  // namespace

std::string_view name(SameTimeSource source) {
  switch (source) {
    case SameTimeSource::kCurves:
      return "the dense runs' curves";
    case SameTimeSource::kRuns:
      return "runs of their own";
    case SameTimeSource::kNone:
      break;
  }
  return "";
}

SameTime same_time(const RowSet& set, const Row& row, std::optional<double> target) {
  if (row.dense == nullptr || row.dense == &row || row.speedup.n == 0) return {};
  const auto recipe = recipe_of(*row.dense->first);
  if (!recipe) return {};
  const double epochs = length_in_epochs(*recipe) / row.speedup.ratio;
  if (row.speedup.ratio <= 1) return {};
  if (is_prefix_of_longer(*recipe)) return in_curves(set, row, epochs, target);
  const auto control = control_row(set, row, *recipe);
  if (control.row == nullptr) return {};
  SameTime result{.source = SameTimeSource::kRuns, .epochs = epochs, .trained = control.epochs};
  result.advantage = paired_difference(set.losses(row, *control.row, /*best=*/false));
  for (const auto& [cell, run] : accuracy_runs(*control.row, /*diverged=*/false)) {
    count_reached(set.judged(*cell, *run), control.epochs, target, result);
  }
  return result;
}

}  // namespace approx
