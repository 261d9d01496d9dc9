#include "results/reports/same_time.h"

#include <algorithm>
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

// The dense row that is as short as the row is fast. One serves all methods that leave it the same
// epochs, so it goes by its recipe and not by the name in its label.
const Row* control_row(const RowSet& set, const Row& row, const Recipe& recipe) {
  const Recipe wanted = shortened(recipe, iso_time_epochs(recipe.epochs, row.speedup.ratio));
  for (const auto& other : set.rows()) {
    const Cell& cell = *other.first;
    if (cell.method_label.starts_with(kIsoTimePrefix) && other.accuracy.n > 0 &&
        same_but_recipe(cell, *row.first) && recipe_of(cell) == wanted) {
      return &other;
    }
  }
  return nullptr;
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
  const auto recipe = recipe_of(*row.first);
  if (row.dense == nullptr || row.dense == &row || row.speedup.n == 0 || !recipe) return {};
  const double epochs = static_cast<double>(recipe->epochs) / row.speedup.ratio;
  if (epochs >= static_cast<double>(recipe->epochs)) return {};
  if (is_prefix_of_longer(*recipe)) return in_curves(set, row, epochs, target);
  const Row* control = control_row(set, row, *recipe);
  if (control == nullptr) return {};
  SameTime result{.source = SameTimeSource::kRuns, .epochs = epochs};
  result.advantage = paired_difference(set.losses(row, *control, /*best=*/false));
  for (const auto& [cell, run] : accuracy_runs(*control, /*diverged=*/false)) {
    count_reached(set.judged(*cell, *run), epochs, target, result);
  }
  return result;
}

}  // namespace approx
