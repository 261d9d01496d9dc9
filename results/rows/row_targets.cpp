// What a row knows of the way to a target.
#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include "results/rows/rows.h"
#include "results/store/run_store.h"

namespace approx {

std::vector<AccuracyRun> target_runs(const Row& row, double share) {
  auto runs = accuracy_runs(row, /*diverged=*/true);
  std::set<int64_t> seeds;
  for (const auto& [cell, run] : runs) seeds.insert(cell->config.seed);
  const auto add = [&](const std::vector<const Cell*>& cells, const auto& counts) {
    for (const auto* cell : cells) {
      const Run* run = cell->run();
      if (!cell->is(Purpose::kAccuracy) || run == nullptr || !counts(run->state)) continue;
      if (cell->config.stop_at > 0 && cell->config.stop_at < share) continue;
      if (seeds.insert(cell->config.seed).second) runs.push_back({cell, run});
    }
  };
  add(row.stopped, is_result);
  add(row.cells, is_cut_off);
  add(row.stopped, is_cut_off);
  return runs;
}

std::map<int64_t, int64_t> RowSet::steps_to_target(const Row& row) const {
  std::map<int64_t, int64_t> steps;
  if (!row.target) return steps;
  for (const auto& [cell, run] : target_runs(row, *row.target)) {
    const auto* reached = first_reaching(judged(*cell, *run), *row.target);
    if (reached != nullptr) steps[cell->config.seed] = reached->step;
  }
  return steps;
}

void RowSet::judge_target(Row& row) const {
  for (const auto* cells : {&row.cells, &row.stopped}) {
    for (const auto* cell : *cells) {
      if (cell->target) row.target = cell->target;
    }
  }
  if (target_) row.target = target_;
  if (!row.target) return;
  std::vector<double> times;
  for (const auto& [cell, run] : target_runs(row, *row.target)) {
    const auto& evaluations = judged(*cell, *run);
    if (!run->result() && evaluations.empty()) continue;
    ++row.target_runs;
    // Of one that was cut off no more is known than its evaluations say.
    const int64_t ns = run->result() ? run->train_ns.value_or(0) : evaluations.back().train_ns;
    row.target_budget = std::max(row.target_budget, static_cast<double>(ns) / kNsPerSecond);
    const auto* reached = first_reaching(evaluations, *row.target);
    if (reached != nullptr) times.push_back(static_cast<double>(reached->train_ns) / kNsPerSecond);
  }
  row.time_to_target = summarize(times);
}

}  // namespace approx
