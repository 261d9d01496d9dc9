#include "results/rows/derived_target.h"

#include <algorithm>
#include <iterator>
#include <set>

#include "core/experiment/iso_time.h"

namespace approx {

std::optional<DerivedTarget> derive_target(const Row& dense, const Margin& margin) {
  DerivedTarget target{.dense = &dense, .bests = {}};
  std::vector<double> values;
  for (const auto& of : accuracy_runs(dense, /*diverged=*/false)) {
    double highest = 0;
    for (const auto& evaluation : of.cell->judged()) {
      highest = std::max(highest, evaluation.value);
    }
    target.bests.push_back({of, highest});
    values.push_back(highest);
  }
  if (values.empty()) return std::nullopt;
  target.median = quantile(values, 0.5);
  target.margin_pp = margin.points(100 - 100 * target.median);
  target.share = target.median - target.margin_pp / 100;
  return target;
}

std::vector<DerivedTarget> derive_targets(const RowSet& set, const Margin& margin) {
  std::vector<DerivedTarget> targets;
  std::set<const Row*> seen;
  for (const auto& row : set.rows()) {
    if (row.dense == nullptr || is_exact_control(row.first->method_label)) continue;
    if (!seen.insert(row.dense).second) continue;
    auto target = derive_target(*row.dense, margin);
    if (target) targets.push_back(std::move(*target));
  }
  return targets;
}

StudyRecord target_record(const std::vector<DerivedTarget>& targets, const Margin& margin,
                          const std::string& experiment) {
  StudyRecord record{.experiment = "",  // of no experiment file: its studies are others
                     .name = kTargetStudy,
                     .params = {{"experiment", experiment}, {"margin", margin.text()}},
                     .methods = Json::array({kDense}),
                     .content = {}};
  Json columns = Json::array(), rows = Json::array();
  for (const char* column : kTargetColumns) columns.push_back(column);
  for (const auto& target : targets) {
    const Cell& first = *target.dense->first;
    for (const auto& [of, best] : target.bests) {
      rows.push_back(
          Json::array({first.network_label, first.config.dataset, first.setting,
                       of.cell->config.seed, of.cell->run_key, of.run->started_utc, of.run->git_sha,
                       best, target.median, target.share, target.margin_pp, target.runs()}));
    }
  }
  record.content = {{"columns", columns}, {"rows", rows}};
  return record;
}

const StoredTarget* stored_target(const Row& row, const std::vector<StoredTarget>& targets) {
  if (row.dense == nullptr) return nullptr;
  const auto is_of = [&](const StoredTarget& target) {
    return std::ranges::any_of(row.dense->cells, [&](const Cell* cell) {
      return target.run_keys.contains(cell->run_key);
    });
  };
  const auto found = std::find_if(targets.rbegin(), targets.rend(), is_of);
  return found == targets.rend() ? nullptr : &*found;
}

}  // namespace approx
